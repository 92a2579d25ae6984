// A token server whose behaviour the test defines (RFC 6749 §4.4 and §6): one client, tokens that can be revoked, responses that no proper
// server gives. token-server.ts has round trips with a real one.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from './egress.ts';
import { httpUpstream, type Upstream } from './upstream.ts';

export const CLIENT = { clientId: 'client', clientSecret: 'canary-client-secret' };

export interface GrantOptions {
	/** The form in which the client must authenticate. Default: either. */
	clientAuth?: 'basic' | 'post';
	expiresIn?: unknown;
	/** The only refresh token that is valid at first; each use gives the next one, and a second use is an `invalid_grant`. */
	refreshToken?: string;
	takesMs?: number;
	/** Responds in place of a token. */
	answer?: (response: ServerResponse, form: URLSearchParams) => void;
}

export interface GrantServer extends Upstream {
	tokenUrl: string;
	/** The forms of token requests, in order, and the headers that came with them. */
	asked: URLSearchParams[];
	headers: IncomingMessage['headers'][];
	/** Refresh tokens that came a second time. */
	reused: string[];
	isGood(authorization: string | undefined): boolean;
	/** Revokes every token issued so far. */
	revoke(): void;
}

export async function grantServer(t: TestContext, options: GrantOptions = {}): Promise<GrantServer> {
	const good = new Set<string>();
	const kept: Pick<GrantServer, 'asked' | 'headers' | 'reused'> = { asked: [], headers: [], reused: [] };
	let { refreshToken } = options;
	let count = 0;
	const upstream = await httpUpstream(t, async (request, response) => {
		const form = new URLSearchParams(await textOf(request));
		kept.asked.push(form);
		kept.headers.push(request.headers);
		await sleep(options.takesMs ?? 0);
		if (options.answer) return options.answer(response, form);
		if (!isClient(request, form, options)) return json(response, 401, { error: 'invalid_client', error_description: form.toString() });
		const isRefresh = form.get('grant_type') === 'refresh_token';
		const given = form.get('refresh_token') ?? '';
		if (isRefresh && given !== refreshToken) {
			kept.reused.push(given);
			return json(response, 400, { error: 'invalid_grant' });
		}
		count += 1;
		if (isRefresh) refreshToken = `canary-refresh-${count + 1}`;
		good.add(`Bearer canary-access-${count}`);
		json(response, 200, {
			...{ access_token: `canary-access-${count}`, token_type: 'bearer', expires_in: options.expiresIn ?? 3600 },
			...(isRefresh && { refresh_token: refreshToken }),
		});
	});
	return {
		...upstream,
		...kept,
		tokenUrl: `${upstream.origin}/token`,
		isGood: (authorization) => good.has(authorization ?? ''),
		revoke: () => good.clear(),
	};
}

function isClient({ headers }: IncomingMessage, form: URLSearchParams, { clientAuth }: GrantOptions): boolean {
	const basic = `Basic ${Buffer.from(`${CLIENT.clientId}:${CLIENT.clientSecret}`).toString('base64')}`;
	const isPost = form.get('client_id') === CLIENT.clientId && form.get('client_secret') === CLIENT.clientSecret;
	return (clientAuth !== 'post' && headers.authorization === basic) || (clientAuth !== 'basic' && isPost);
}

export const json = (response: ServerResponse, status: number, body: unknown): void =>
	void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
