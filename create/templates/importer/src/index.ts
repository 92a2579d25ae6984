// Imports a list of operations, one a line: `GET /pets/{id} Shows a pet.` Each becomes a tool that sends an HTTP request.

import { cleanText, GatewayError, nameOperations, type Operation, type SchemaImporter } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	prefix: string;
}

const HEAD = '# operations';
const LINE = /^(GET|POST|PUT|DELETE) (\/\S*)(?: (.*))?$/;

export default {
	kind: 'importer',
	api: 1,
	name: 'my_plugin',
	summary: `Imports a list of operations that begins with “${HEAD}”, one operation a line.`,
	config: Joi.object<Config>({
		prefix: Joi.string().allow('').default('').description('The start of the paths that are imported.'),
	}),
	detect: (text) => (text.startsWith(`${HEAD}\n`) ? 1 : 0),
	async *parse({ text }, { prefix }) {
		if (!text.startsWith(`${HEAD}\n`)) throw new GatewayError('schema_invalid', `The list must begin with the line “${HEAD}”.`);
		const found = linesOf(text).filter(({ path }) => path.startsWith(prefix));
		const names = nameOperations(found.map(({ method, path }) => ({ method, path, operationId: null })));
		for (const [at, line] of found.entries()) yield operationOf(line, names[at] ?? '');
		return { format: 'operations', title: null, version: null, servers: [] };
	},
	tool: ({ name, description, method, path, parameters, outputSchema }, api) => ({
		...{ name, description, parameters, outputSchema },
		executor: 'http',
		annotations: { readOnlyHint: method === 'GET' },
		executionConfig: {
			method,
			url: api.baseUrl.replace(/\/$/, '') + path,
			parameters: argumentsOf(path).map((arg) => ({ arg, name: arg, in: 'path' })),
		},
	}),
} satisfies SchemaImporter<Config>;

interface Line {
	method: string;
	path: string;
	description: string;
}

function linesOf(text: string): Line[] {
	return text.split('\n').flatMap((line, at) => {
		if (line.trim() === '' || line.startsWith('#')) return [];
		const [, method, path, description = ''] = LINE.exec(line) ?? [];
		if (method === undefined || path === undefined)
			throw new GatewayError('schema_invalid', `Line ${at + 1} is no operation: it must be a method, a path and a description.`);
		return { method, path, description: cleanText(description, 1000) };
	});
}

const operationOf = ({ method, path, description }: Line, name: string): Operation => ({
	...{ name, method, path, description },
	key: `${method} ${path}`,
	operationId: null,
	tags: [],
	deprecated: false,
	parameters: {
		type: 'object',
		properties: Object.fromEntries(argumentsOf(path).map((arg) => [arg, { type: 'string' }])),
		required: argumentsOf(path),
	},
	outputSchema: null,
	definition: {},
	outcome: 'converted',
	reasons: [],
});

const argumentsOf = (path: string): string[] => [...new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))];
