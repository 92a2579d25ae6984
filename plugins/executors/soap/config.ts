// The `soap` executor's config, which the SOAP importer writes.

import Joi from 'joi';
import { headerRules, parsedUrl } from '../../../core/index.ts';
import { elementFault, type MessageModel, type TypeModel, typesFault } from './model.ts';

export interface SoapConfig {
	endpoint?: string;
	version: '1.1' | '1.2';
	style: 'document' | 'rpc';
	action: string;
	wsSecurity?: 'text' | 'digest';
	headers?: Record<string, string>;
	namespaces: Record<string, string>;
	types: Record<string, TypeModel>;
	request: MessageModel;
	response?: MessageModel;
	timeoutMs: number;
}

/** A URL without user name and fragment: credentials belong to the API, and a fragment is never sent. */
const ENDPOINT = /^(?:https?:\/\/[^/?#\\@\s]+(?:[/?][^#\\\s]*)?|\/(?![/\\])[^#\\\s]*)$/i;

/** Makes a rule of a check. The text is a value of the template: `{…}` in the template itself would be evaluated. */
const faultless =
	<T>(faultOf: (value: T) => string | null) =>
	(value: T, helpers: Joi.CustomHelpers): T | Joi.ErrorReport => {
		const text = faultOf(value);
		return text === null ? value : helpers.message({ custom: '{{#label}} {{#text}}' }, { text });
	};

const message = Joi.object<MessageModel>({
	root: Joi.string()
		.valid('content', 'value', 'elements')
		.required()
		.description('The part of the body that is the arguments or the result'),
	element: Joi.any().custom(faultless(elementFault)).description('The single element of the body'),
	type: Joi.string().description('Type whose elements are those of the body'),
	encoded: Joi.boolean().description("Whether the message is written in SOAP's encoding (SOAP 1.1, section 5)"),
	header: Joi.string().description("Type whose elements are the header's"),
	headerKey: Joi.string().description('The argument or member of the result that is the header'),
	arguments: Joi.object().pattern(/./, Joi.string()).description('Members of the content, by the arguments that have another name'),
}).custom(
	faultless(({ root, element, type }: MessageModel) => {
		const missing = root === 'elements' ? type === undefined : element === undefined;
		return missing ? `must have ${root === 'elements' ? 'a type' : 'an element'}, as its root is ${root}` : null;
	}),
);

export const config: Joi.ObjectSchema<SoapConfig> = Joi.object<SoapConfig>({
	endpoint: Joi.string()
		.max(8192)
		.pattern(ENDPOINT)
		.custom(parsedUrl('http://base'))
		.messages({
			'string.pattern.base': '{{#label}} must be an http or https URL without user name and fragment, or a path that begins with one slash',
		})
		.description("URL that the message is sent to, or a path that replaces that of the API's base URL. When absent, the base URL is used"),
	version: Joi.string().valid('1.1', '1.2').required().description('SOAP version'),
	style: Joi.string()
		.valid('document', 'rpc')
		.required()
		.description('Style of the binding; the name of an answer’s element is checked only in document style'),
	action: Joi.string().allow('').max(8192).required().description('SOAPAction, or the action parameter of SOAP 1.2'),
	wsSecurity: Joi.string()
		.valid('text', 'digest')
		.description(
			'Send the stored basic_auth credential as a WS-Security UsernameToken in the message, with the password as text or as a digest of it',
		),
	headers: headerRules.description('HTTP headers, in addition to those of the stored credential'),
	namespaces: Joi.object()
		.pattern(/^\d+$/, Joi.string().allow('').max(8192))
		.required()
		.description('Written by importers: namespaces, by the numbers that types refer to'),
	types: Joi.any().custom(faultless(typesFault)).required().description('Written by importers: the types of the messages'),
	request: message.required().description('Written by importers: the message that is sent'),
	response: message.description('Written by importers: the message that is answered. When absent, none is expected'),
	timeoutMs: Joi.number().integer().min(1).max(120_000).default(30_000).description('Milliseconds for the whole call, redirects included'),
}).description('One operation of a SOAP service, as its importer wrote it');
