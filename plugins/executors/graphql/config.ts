// The `graphql` executor's config, written by hand or by the GraphQL importer.

import Joi from 'joi';
import { headerRules, parsedUrl } from '../../../core/index.ts';

export interface GraphqlConfig {
	endpoint?: string;
	query: string;
	operationName?: string;
	headers?: Record<string, string>;
	selectArgument?: string;
	timeoutMs: number;
}

/** A URL without user name and fragment: credentials belong to the API, and a fragment is never sent. */
const ENDPOINT = /^https?:\/\/[^/?#\\@\s]+(?:[/?][^#\\\s]*)?$/i;
const NAME = /^[_A-Za-z][_0-9A-Za-z]*$/;

const SEALED =
	'A value whose name holds authorization, cookie, token, secret, password or api-key is sealed, and shown as ••••; sent back so, it stays';

export const config: Joi.ObjectSchema<GraphqlConfig> = Joi.object<GraphqlConfig>({
	endpoint: Joi.string()
		.max(8192)
		.pattern(ENDPOINT)
		.custom(parsedUrl())
		.meta({ destination: true })
		.messages({ 'string.pattern.base': '{{#label}} must be an http or https URL without user name and fragment' })
		.description('URL that takes the query by POST. Tools of an API go to its base URL instead'),
	query: Joi.string().max(65_536).required().description('GraphQL document with one operation, or several and operationName'),
	operationName: Joi.string().max(200).pattern(NAME, 'a GraphQL name').description('The operation to run, if the query holds several'),
	headers: headerRules.description(`Request headers, in addition to those of the stored credential. ${SEALED}`),
	selectArgument: Joi.string()
		.max(64)
		.description(
			'Written by importers: the argument whose text is a selection, which replaces the selection of the operation’s only field',
		),
	timeoutMs: Joi.number().integer().min(1).max(120_000).default(30_000).description('Milliseconds for the whole call, redirects included'),
}).description('One GraphQL operation. Arguments are sent as the variables that it declares');
