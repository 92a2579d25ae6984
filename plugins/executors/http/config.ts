// The `http` executor's config: what a person writes by hand, and beside it what importers write for exact serialization.

import Joi from 'joi';
import { CREDENTIALS, type CredentialType, headerNameFault, headerRules, type Json } from '../../../core/index.ts';

export interface Parameter {
	arg: string;
	name: string;
	in: 'path' | 'query' | 'header' | 'cookie';
	style?: Style;
	explode?: boolean;
	allowReserved?: boolean;
	contentType?: string;
}

export type Style = 'matrix' | 'label' | 'simple' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject';

export interface Part {
	contentType?: string;
	binary?: boolean;
	style?: Style;
	explode?: boolean;
}

export interface RequestBody {
	arg: string;
	contentType: string;
	parts?: Record<string, Part>;
}

export interface HttpConfig {
	method: string;
	url: string;
	headers?: Record<string, string>;
	query?: Record<string, string | number | boolean>;
	body?: Json;
	parameters?: Parameter[];
	requestBody?: RequestBody;
	security?: CredentialType[][];
	timeoutMs: number;
}

const STYLES_OF: Readonly<Record<Parameter['in'], readonly Style[]>> = {
	path: ['matrix', 'label', 'simple'],
	query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
	header: ['simple'],
	cookie: ['form'],
};

const MEDIA_TYPE = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;[\t\x20-\x7e]*)?$/;
const MEDIA_TYPES = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*[;,][\t\x20-\x7e]*)?$/;

/** Scheme and authority, in which a placeholder could send the call (and its credential) anywhere. */
const ABSOLUTE = /^https?:\/\/[^/?#{}\\@\s]+(?:[/?][^#\\\s]*)?$/i;
const RELATIVE = /^\/(?!\/)[^#\\\s]*$/;

/** Segments that a URL parser takes for `.` or `..` and folds away. */
export const climbs = (path: string): boolean => path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));

/** As a value of the template: `{…}` in the text itself would be evaluated. */
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
	.description('How arrays and objects are written: OpenAPI 3.1, section 4.8.12.2');
const explode = Joi.boolean().description('Whether each item of an array or object is written on its own; by default only in style form');
const contentType = Joi.string().pattern(MEDIA_TYPE, 'media type');

/** Each place has its own styles, and a header its rules. */
const fitting = (value: Parameter, helpers: Joi.CustomHelpers): Parameter | Joi.ErrorReport => {
	const styles = STYLES_OF[value.in];
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
		.description('Where it is written'),
	style,
	explode,
	allowReserved: Joi.boolean().description('Leave reserved characters of a query value as they are, except those that would end it'),
	contentType: contentType.description('Write the whole value in this media type instead of a style'),
}).custom(fitting);

const part = Joi.object<Part>({
	contentType: Joi.string()
		.pattern(MEDIA_TYPES, 'media types')
		.description('Media type of this part, or several of which a file’s own is one; by default JSON for objects'),
	binary: Joi.boolean().description('The value is { data (base64), filename, contentType }, or base64 alone'),
	style,
	explode,
});

const requestBody = Joi.object<RequestBody>({
	arg: Joi.string().required().description('The argument that holds the body'),
	contentType: contentType.required().description('Media type in which it is written'),
	parts: Joi.object().pattern(/./, part).description('Of a form: how each of its properties is written'),
});

const TEXT_TEMPLATE = 'may hold {placeholders}; dropped when the arguments of all of them are absent';

export const config: Joi.ObjectSchema<HttpConfig> = Joi.object<HttpConfig>({
	method: Joi.string()
		.uppercase()
		.valid('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY')
		.required()
		.description('HTTP method'),
	url: Joi.string()
		.max(8192)
		.custom(url)
		.required()
		.description(
			'Absolute http(s) URL, or for tools of an API a path that is appended to its base URL. {argument} in path or query is replaced',
		),
	headers: headerRules.description(`Request headers; values ${TEXT_TEMPLATE}`),
	query: Joi.object()
		.pattern(/./, [Joi.string().allow(''), Joi.number(), Joi.boolean()])
		.description(`Query parameters; values ${TEXT_TEMPLATE}; a list is written once per item`),
	body: Joi.any().description(
		'Body template, sent as JSON unless headers name another content type. A text that is exactly {argument} becomes the argument itself, other texts are filled in; what is absent is left out',
	),
	parameters: Joi.array().items(parameter).description('Written by importers: where and how each argument goes'),
	requestBody: requestBody.description('Written by importers: the argument that is the body, and its media type'),
	security: Joi.array()
		.items(Joi.array().items(Joi.string().valid(...Object.keys(CREDENTIALS))))
		.description(
			'Alternatives of credential types, the first that is stored is used; [] sends none. Absent: whatever is stored for the API',
		),
	timeoutMs: Joi.number().integer().min(1).max(120_000).default(30_000).description('Milliseconds for the whole call, redirects included'),
})
	.nand('body', 'requestBody')
	.description(
		'One HTTP request. Arguments that no placeholder uses go into the query (GET, HEAD, DELETE, OPTIONS) or a JSON body, unless query, body, parameters or requestBody say otherwise',
	);
