// Declares the options of an OpenAPI import, which are given with each import.

import Joi from 'joi';
import type { ServerVariables } from './servers.ts';

/** Methods that become tools only on request, since they return nothing but headers. */
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
		.description('Values of variables in server URLs, by name. Variables that are not named have their defaults.'),
	methods: Joi.array()
		.items(Joi.string().valid(...ON_REQUEST))
		.max(ON_REQUEST.length)
		.default([])
		.description('Further methods that become tools; such tools return the response headers.'),
});
