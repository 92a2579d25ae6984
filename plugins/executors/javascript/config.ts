// The `javascript` executor's config: the code, which clients write beside it, and what a run may take.

import Joi from 'joi';

export interface JavascriptConfig {
	code?: string;
	timeoutMs: number;
	memoryMb: number;
}

export const config: Joi.ObjectSchema<JavascriptConfig> = Joi.object<JavascriptConfig>({
	code: Joi.string()
		.max(262_144)
		.description('Written as the tool’s `code`: the body of an async function of `parameters`, such as `return parameters.a + 1`'),
	timeoutMs: Joi.number().integer().min(50).max(30_000).default(5000).description('Milliseconds for the whole run, requests included'),
	memoryMb: Joi.number().integer().min(4).max(128).default(64).description('Megabytes that the code may hold'),
}).description('JavaScript in a sandbox: no modules, files, environment or network but `fetch`, where the organization allows that');
