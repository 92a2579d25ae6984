// The `javascript` executor's config: the code, which clients write in a field of the tool, and the limits of a run.

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
	timeoutMs: Joi.number().integer().min(50).max(30_000).default(5000).description('Milliseconds for the whole run, including its requests'),
	memoryMb: Joi.number().integer().min(4).max(128).default(64).description('Megabytes that the code may hold'),
}).description('JavaScript in a sandbox: no modules, files, environment or network except `fetch`, if the organization allows it');
