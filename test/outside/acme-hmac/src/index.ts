// Admits requests that carry a signature over their head and their body, made with a shared secret. Each signature is good once, on all replicas.
//
//   x-acme-key: <id>            x-acme-time: <seconds since 1970>
//   x-acme-nonce: <a new text for each request>    x-acme-digest: <hex SHA-256 of the body>
//   x-acme-signature: <hex HMAC-SHA-256 of method, target, host, time, nonce and digest, each on a line>

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type AuthMethod, GatewayError, type Incoming, type JsonObject } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	keys: { id: string; secret: string }[];
	toleranceSeconds: number;
}

const wrong = (message: string): GatewayError => new GatewayError('unauthorized', message);
const isSame = (one: string, other: string): boolean => {
	const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest());
	return a !== undefined && b !== undefined && timingSafeEqual(a, b);
};

/** The parts of a request's head that are signed beside its line and host. */
export interface Signed {
	time: string;
	nonce: string;
	digest: string;
}

/** Signs the head of a request. */
export function sign(request: Pick<Incoming, 'method' | 'target' | 'authority'>, { time, nonce, digest }: Signed, secret: string): string {
	const { method, target, authority } = request;
	return createHmac('sha256', secret).update([method, target, authority, time, nonce, digest].join('\n')).digest('hex');
}

export const digestOf = (body: string | Buffer): string => createHash('sha256').update(body).digest('hex');

export default {
	kind: 'auth',
	api: 1,
	name: 'acme_hmac',
	summary: 'Admits requests that are signed with a shared secret, each once.',
	config: Joi.object<Config>({
		keys: Joi.array()
			.items(
				Joi.object({
					id: Joi.string()
						.pattern(/^[\w-]{1,64}$/)
						.required()
						.description('The name of the key, which the client sends.'),
					secret: Joi.string().min(32).required().meta({ secret: true }).description('At least 32 characters.'),
				}),
			)
			.min(1)
			.max(20)
			.unique('id')
			.required()
			.description('The keys of the clients.'),
		toleranceSeconds: Joi.number().integer().min(1).max(900).default(300).description('The greatest difference of the clocks.'),
	}),
	async authenticate(request, { keys, toleranceSeconds }, context) {
		const { 'x-acme-key': id, 'x-acme-time': time = '', 'x-acme-nonce': nonce = '', 'x-acme-digest': digest = '' } = request.headers;
		const signature = request.headers['x-acme-signature'];
		if (id === undefined || signature === undefined) return null;
		// An unknown key costs as much as a known one.
		const secret = keys.find((key) => key.id === id)?.secret ?? 'x'.repeat(32);
		const isKnown = keys.some((key) => key.id === id);
		if (!isSame(signature, sign(request, { time, nonce, digest }, secret)) || !isKnown) throw wrong('The signature is wrong.');
		const isFresh = /^\d{1,12}$/.test(time) && Math.abs(Date.now() / 1000 - Number(time)) <= toleranceSeconds;
		if (!isFresh) throw wrong('The time of the signature is too far from that of the service.');
		// The signature is remembered for as long as its time is taken for fresh.
		const isFirst = await context.records.add(`seen:${digestOf(signature)}`, {}, { tags: ['seen'], ttlMs: 2 * toleranceSeconds * 1000 });
		if (!isFirst) throw wrong('The signature was used already.');
		return { method: 'acme_hmac', subject: id, scopes: ['tools:read', 'tools:execute'], credential: id };
	},
	async verifyBody({ headers, rawBody }) {
		if (!isSame(headers['x-acme-digest'] ?? '', digestOf(rawBody))) throw wrong('The body is not the one that was signed.');
	},
	// A key that was removed from the config is good no longer.
	recheck: async (caller, { keys }) => (keys.some(({ id }) => id === caller.credential) ? caller : null),
	secretHeaders: () => ['x-acme-signature'],
	takes: () => 'a signature in X-Acme-Signature',
	challenge: (_gateway, _config, fault) => `Acme-HMAC algorithm="hmac-sha256"${fault ? `, error="${fault.error}"` : ''}`,
	scheme: (_gateway: unknown, _config: unknown) => ({
		type: 'http',
		scheme: 'Acme-HMAC',
		description: 'HMAC-SHA-256 over the request, in X-Acme-Signature.',
	}),
	cors: { send: ['x-acme-key', 'x-acme-time', 'x-acme-nonce', 'x-acme-digest', 'x-acme-signature'] },
	management: [
		{
			method: 'GET',
			path: '/acme-hmac/signatures',
			id: 'countAcmeSignatures',
			summary: 'Counts the signatures that are remembered.',
			answer: Joi.object({ remembered: Joi.number().integer().required() }),
			handler: async (_request, context): Promise<JsonObject> => ({ remembered: await context.records.count('seen') }),
		},
	],
} satisfies AuthMethod<Config>;
