// The `http` executor: one request per call, configured by hand or by an importer (its bytes follow OpenAPI 3.1 §4.8.12 and RFC 6570).

import { invalid, secretsAdded, type ToolExecutor } from '../../../core/index.ts';
import { config, type HttpConfig } from './config.ts';
import { planOf } from './plan.ts';
import { buildRequest } from './request.ts';
import { readResponse } from './response.ts';

export default {
	kind: 'executor',
	api: 1,
	name: 'http',
	creatable: true,
	summary: 'Calls an HTTP endpoint: arguments go into its path, query, headers, cookies and body.',
	spec: 'RFC 9110 (HTTP Semantics, June 2022); OpenAPI 3.1.1 §4.8.12 (parameter styles)',
	config,
	async check({ url }, { checkUrl }) {
		if (url.startsWith('/')) {
			throw invalid(
				'/executionConfig/url',
				'"url" must be absolute, such as https://api.example.com/pets: only tools of an API have a base URL.',
			);
		}
		await checkUrl(url.replace(/\{[^{}]+\}/g, 'x'), '/executionConfig/url');
	},
	async execute(args, config, call) {
		const request = buildRequest(config, args, call.api);
		request.signal = call.signal;
		const signed = await call.sign(request);
		const response = await call.request(signed);
		return readResponse(response, {
			method: config.method,
			schema: call.tool?.outputSchema ?? null,
			secrets: secretsAdded(request, signed, planOf(config, call.api).secretHeaders),
		});
	},
} satisfies ToolExecutor<HttpConfig>;
