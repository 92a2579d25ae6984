// A small protocol: GET / lists the tools, POST /{tool} runs one with the JSON body as its arguments.

import { type Json, notFound, type TransportAdapter } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	greeting: string;
}

export default {
	kind: 'transport',
	api: 1,
	name: 'my_plugin',
	summary: 'Lists the tools at /, and runs one by a POST to its name.',
	config: Joi.object<Config>({
		greeting: Joi.string().default('Tools').description('The title of the list.'),
	}),
	routes: [
		{
			method: 'GET',
			path: '/',
			async handler(_request, { greeting }, call) {
				const tools = (await call.tools()).map(({ name, description, parameters }) => ({ name, description, parameters }));
				return { status: 200, body: { title: greeting, tools } };
			},
		},
		{
			method: 'POST',
			path: '/{tool}',
			body: 'json',
			async handler({ params, body }, _config, call) {
				const name = params['tool'];
				if (name === undefined) throw notFound('Tool');
				// Core parsed the body, so it is JSON; null without one.
				const { content, structured = null, isError = false } = await call.invoke({ name }, (body ?? {}) as Json);
				const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
				return { status: isError ? 422 : 200, body: { texts, structured } };
			},
		},
	],
	fail: ({ status, message }) => ({ status, body: { title: 'The request failed.', message } }),
} satisfies TransportAdapter<Config>;
