// Runs a tool by posting its arguments to an address.

import { failedResult, httpUrl, jsonResult, secretsAdded, type ToolExecutor, withoutSecrets } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	url: string;
	token?: string;
}

export default {
	kind: 'executor',
	api: 1,
	name: 'my_plugin',
	creatable: true,
	summary: 'Posts the arguments of the tool to an address, and answers what comes back.',
	config: Joi.object<Config>({
		url: httpUrl.required().meta({ destination: true }).description('The address that gets the arguments as JSON.'),
		token: Joi.string().meta({ secret: true }).description('Sent as a Bearer token.'),
	}),
	check: ({ url }, context) => context.checkUrl(url, '/executionConfig/url'),
	async execute(args, { url, token }, call) {
		const request = {
			method: 'POST',
			url,
			headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
			body: JSON.stringify(args),
			signal: call.signal,
		};
		// A credential that is stored beside the API is added here.
		const signed = await call.sign(request);
		const response = await call.request(signed);
		// A server may repeat what it was sent.
		const secrets = [...secretsAdded(request, signed), ...(token === undefined ? [] : [token])];
		if (response.status >= 400) return failedResult(response, secrets);
		return jsonResult(withoutSecrets(response.body.toString('utf8'), secrets));
	},
} satisfies ToolExecutor<Config>;
