// Admits whoever knows a passphrase, sent in a header.

import { createHash, timingSafeEqual } from 'node:crypto';
import { type AuthMethod, GatewayError } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	header: string;
	passphrase: string;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export default {
	kind: 'auth',
	api: 1,
	name: 'my_plugin',
	summary: 'Admits callers that know a passphrase.',
	config: Joi.object<Config>({
		header: Joi.string()
			.pattern(/^[a-z][a-z0-9-]*$/)
			.default('x-passphrase')
			.description('The header that holds it, in lower case.'),
		passphrase: Joi.string().min(12).required().meta({ secret: true }).description('At least 12 characters.'),
	}),
	async authenticate(request, { header, passphrase }) {
		const given = request.headers[header];
		// Null leaves the request to the gateway's other methods.
		if (given === undefined) return null;
		// Digests have one length, so the time tells nothing of the passphrase.
		if (!timingSafeEqual(digest(given), digest(passphrase))) throw new GatewayError('unauthorized', 'The passphrase is wrong.');
		return { method: 'my_plugin', subject: 'holder', scopes: ['tools:read', 'tools:execute'] };
	},
	secretHeaders: ({ header }) => [header],
	takes: ({ header }) => `a passphrase in ${header}`,
	scheme: (_gateway, { header }) => ({ type: 'apiKey', in: 'header', name: header }),
} satisfies AuthMethod<Config>;
