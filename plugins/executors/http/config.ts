// The `http` executor's config: fields that a person writes by hand, and fields that importers write for exact serialization.

import Joi from 'joi';
import { CREDENTIALS, type CredentialNeed, headerNameFault, headerRules, type Json } from '../../../core/index.ts';
import { writesSecret } from './template.ts';
import { planFault, type XmlPlan } from './xml-plan.ts';

export interface Parameter {
	arg: string;
	name: string;
	in: 'path' | 'query' | 'querystring' | 'header' | 'cookie';
	style?: Style;
	explode?: boolean;
	allowReserved?: boolean;
	contentType?: string;
	parts?: Record<string, Part>;
}

export type Style = 'matrix' | 'label' | 'simple' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'cookie';

export interface Part {
	contentType?: string;
	binary?: boolean;
	style?: Style;
	explode?: boolean;
	allowReserved?: boolean;
	headers?: Record<string, string>;
	xml?: XmlPlan;
}

export interface RequestBody {
	arg: string;
	contentType: string;
	parts?: Record<string, Part>;
	otherParts?: Part;
	isText?: boolean;
	xml?: XmlPlan;
}

export interface HttpConfig {
	method: string;
	url: string;
	headers?: Record<string, string>;
	query?: Record<string, string | number | boolean>;
	body?: Json;
	parameters?: Parameter[];
	requestBody?: RequestBody;
	security?: CredentialNeed[][];
	timeoutMs: number;
}

/** The methods of RFC 9110 and RFC 5789, and those of the IANA registry that APIs also use (WebDAV's above all). */
const METHODS = [
	...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'],
	...['ACL', 'BIND', 'CHECKIN', 'CHECKOUT', 'COPY', 'LABEL', 'LINK', 'LOCK', 'MERGE', 'MKACTIVITY', 'MKCALENDAR', 'MKCOL', 'MKWORKSPACE'],
	...['MOVE', 'ORDERPATCH', 'PROPFIND', 'PROPPATCH', 'PURGE', 'REBIND', 'REPORT', 'SEARCH', 'UNBIND', 'UNCHECKOUT', 'UNLINK', 'UNLOCK'],
	'UPDATE',
];

const STYLES_OF: Readonly<Record<Parameter['in'], readonly Style[]>> = {
	path: ['matrix', 'label', 'simple'],
	query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
	// The whole query at once (OpenAPI 3.2 §4.12.1): always in a media type.
	querystring: [],
	header: ['simple'],
	cookie: ['form', 'cookie'],
};

const MEDIA_TYPE = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;[\t\x20-\x7e]*)?$/;
const MEDIA_TYPES = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*[;,][\t\x20-\x7e]*)?$/;

/** An absolute URL without placeholders in scheme and authority, where they could send the call (and its credential) anywhere. */
const ABSOLUTE = /^https?:\/\/[^/?#{}\\@\s]+(?:[/?][^#\\\s]*)?$/i;
const RELATIVE = /^\/(?!\/)[^#\\\s]*$/;

/** Whether a path has segments that a URL parser reads as `.` or `..` and removes. */
export const climbs = (path: string): boolean => path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));

/** Reports a fault. The text is a value of the template: `{…}` in the template itself would be evaluated. */
const wrong = (helpers: Joi.CustomHelpers, text: string): Joi.ErrorReport => helpers.message({ custom: '{{#label}} {{#text}}' }, { text });

const url = (value: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport => {
	const sample = value.replace(/\{[^{}]+\}/g, 'x');
	if (!(ABSOLUTE.test(value) || RELATIVE.test(value)) || /[{}]/.test(sample) || !URL.canParse(sample, 'http://base'))
		return wrong(
			helpers,
			'must be an http or https URL without user name and fragment, or, for tools of an API, a path that begins with one slash; ' +
				'{placeholders} may stand in its path and query only',
		);
	const [path = ''] = sample.split('?');
	return climbs(path) ? wrong(helpers, 'may not contain . or .. segments') : value;
};

const style = Joi.string()
	.valid(...new Set(Object.values(STYLES_OF).flat()))
	.description('How arrays and objects are written: OpenAPI 3.2, section 4.12.2.2');
const explode = Joi.boolean().description('Whether each item of an array or object is written on its own; by default only in style form');
const contentType = Joi.string().pattern(MEDIA_TYPE, 'a media type');

function besideOurs(headers: Record<string, string>, helpers: Joi.CustomHelpers): Record<string, string> | Joi.ErrorReport {
	const ours = Object.keys(headers).find((name) => /^content-(?:type|disposition)$/i.test(name));
	return ours === undefined ? headers : wrong(helpers, `names ${ours}, which is written from the part’s name, file and contentType`);
}

function writable(plan: unknown, helpers: Joi.CustomHelpers): unknown {
	const fault = planFault(plan);
	return fault === null ? plan : wrong(helpers, fault);
}

const xml = Joi.object().unknown().custom(writable);

const part = Joi.object<Part>({
	contentType: Joi.string()
		.pattern(MEDIA_TYPES, 'media types')
		.description('Media type of this part, or several of which a file’s own is one; by default JSON for objects'),
	binary: Joi.boolean().description('The value is a file: { data (base64), filename, contentType }, or base64 alone'),
	style,
	explode,
	allowReserved: Joi.boolean().description('Leave reserved characters of the field’s value as they are, except those that would end it'),
	headers: headerRules
		.custom(besideOurs)
		.description('For a multipart body: headers of this part in addition to Content-Type and Content-Disposition'),
	xml: xml.description('For a part in XML: how its elements are written from the value'),
});

const parts = Joi.object().pattern(/^/, part);

/** Checks that the style exists in the parameter's location, and that a header's name is allowed. */
const fitting = (value: Parameter, helpers: Joi.CustomHelpers): Parameter | Joi.ErrorReport => {
	const styles = STYLES_OF[value.in];
	if (value.in !== 'querystring' && value.parts !== undefined) return wrong(helpers, 'has parts, which only a querystring has');
	if (value.in === 'querystring' && (value.contentType === undefined || value.style !== undefined))
		return wrong(helpers, 'is the whole query: it needs a contentType, and takes no style');
	if (value.style !== undefined && !styles.includes(value.style))
		return wrong(helpers, `has a style that does not exist in ${value.in}: it must be one of ${styles.join(', ')}`);
	const fault = value.in === 'header' ? headerNameFault(value.name) : null;
	return fault === null ? value : wrong(helpers, `names ${JSON.stringify(value.name)}, which ${fault}`);
};

const parameter = Joi.object<Parameter>({
	arg: Joi.string().required().description('The argument that holds the value'),
	name: Joi.string().required().description('Its name on the wire'),
	in: Joi.string()
		.valid(...Object.keys(STYLES_OF))
		.required()
		.description('Location of the parameter'),
	style,
	explode,
	allowReserved: Joi.boolean().description(
		'Leave reserved characters of a query or path value as they are, except those that would end it',
	),
	contentType: contentType.description('Write the whole value in this media type instead of a style'),
	parts: parts.description('For a querystring that is a form: how each of its properties is written'),
}).custom(fitting);

const requestBody = Joi.object<RequestBody>({
	arg: Joi.string().required().description('The argument that holds the body'),
	contentType: contentType.required().description('Media type in which it is written'),
	parts: parts.description('For a form: how each of its properties is written'),
	otherParts: part.description('For a form: how the properties are written that parts does not name'),
	isText: Joi.boolean().description(
		'The value is sent as text, unchanged, even if its media type is binary: base64 that the server decodes',
	),
	xml: xml.description(
		'For a body in XML: how its elements are written from the value. When absent, the value is the XML document, as text',
	),
});

const SEALED =
	'A value whose name holds authorization, cookie, token, secret, password or api-key is sealed, and shown as ••••; sent back so, it stays. ' +
	'One that is made of {placeholders}, such as “Bearer {token}”, holds no secret and is shown';
const credentialType = Joi.string().valid(...Object.keys(CREDENTIALS));
const need = Joi.alternatives().conditional(Joi.object(), {
	// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
	then: Joi.object({
		scheme: Joi.string().required(),
		type: credentialType.required(),
		in: Joi.string().valid('header', 'query', 'cookie'),
		name: Joi.string(),
		only: Joi.boolean(),
	}),
	otherwise: credentialType,
});

const TEXT_TEMPLATE = 'may hold {placeholders}; dropped when the arguments of all of them are absent';

export const config: Joi.ObjectSchema<HttpConfig> = Joi.object<HttpConfig>({
	method: Joi.string()
		.uppercase()
		.valid(...METHODS)
		.required()
		.description('HTTP method'),
	url: Joi.string()
		.max(8192)
		.custom(url)
		.meta({ destination: true })
		.required()
		.description(
			'Absolute http(s) URL, or for tools of an API a path that is appended to its base URL. {argument} in path or query is replaced',
		),
	headers: headerRules.meta({ secretMembers: writesSecret }).description(`Request headers; values ${TEXT_TEMPLATE}. ${SEALED}`),
	query: Joi.object()
		.pattern(/./, [Joi.string().allow(''), Joi.number(), Joi.boolean()])
		.description(`Query parameters; values ${TEXT_TEMPLATE}; a list is written once per item`),
	body: Joi.any().description(
		'Body template, sent as JSON unless headers name another content type. A text that is exactly {argument} becomes the argument itself, other texts are filled in; properties and items of absent arguments are left out',
	),
	parameters: Joi.array().items(parameter).description('Written by importers: where and how each argument is sent'),
	requestBody: requestBody.description('Written by importers: the argument that is the body, and its media type'),
	security: Joi.array()
		.items(Joi.array().items(need))
		.description(
			'Alternatives of credentials, each a security scheme or a type; the first of which all credentials are stored is used, [] sends none. ' +
				'When absent, the credential that is stored for the API without a scheme is used',
		),
	timeoutMs: Joi.number().integer().min(1).max(120_000).default(30_000).description('Milliseconds for the whole call, redirects included'),
})
	.nand('body', 'requestBody')
	.description(
		'One HTTP request. Arguments that no placeholder uses go into the query (GET, HEAD, DELETE, OPTIONS) or a JSON body, unless query, body, parameters or requestBody say otherwise',
	);
