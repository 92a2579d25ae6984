// The options of an import of OpenAPI, which users give with the document each time.

import Joi from 'joi';
import type { ServerVariables } from './servers.ts';

/** They answer headers: few want them as tools. */
export const ON_REQUEST = ['HEAD', 'OPTIONS'] as const;

export interface ImportOptions {
	serverVariables: ServerVariables;
	methods: (typeof ON_REQUEST)[number][];
}

export const NO_OPTIONS: ImportOptions = { serverVariables: {}, methods: [] };

export const config = Joi.object<ImportOptions>({
	serverVariables: Joi.object()
		.pattern(Joi.string().max(100), Joi.string().allow('').max(500))
		.max(50)
		.default({})
		.description('Values of variables in the URLs of servers, by name. Others have their defaults.'),
	methods: Joi.array()
		.items(Joi.string().valid(...ON_REQUEST))
		.max(ON_REQUEST.length)
		.default([])
		.description('Methods that become tools as well; their tools answer the headers.'),
});
