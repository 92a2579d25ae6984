// Tests clients that a URL describes (client ID metadata documents), and gateways that switch off such clients or registration.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, type TestContext, test } from 'node:test';
import { isBeforeTimer } from '../helpers/clock.ts';
import { ask, bearer, type GuardedGateway, guardedGateway } from '../helpers/gateway-auth.ts';
import {
	approve,
	authorizationUrl,
	METADATA,
	obtainCode,
	pkce,
	REDIRECT,
	redeem,
	refresh,
	registerClient,
	sendForm,
} from '../helpers/oauth.ts';
import { type Account, must, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { httpUpstream } from '../helpers/upstream.ts';

let service: TestService;
let account: Account;
let url: string;
before(async () => {
	service = await startTestService();
	account = await registerAccount(service.url);
	({ url } = await guardedGateway(account, [{ type: 'oauth2' }]));
});
after(() => service.stop());

interface Published {
	id: string;
	secret: null;
	redirectUri: string;
	/** Returns the number of requests for the document. */
	fetches(): number;
}

type Responder = (response: ServerResponse, id: string, request: IncomingMessage) => void;

const documentOf = (id: string, change: object = {}): string => JSON.stringify({ client_id: id, ...METADATA, ...change });

const described =
	(change: object = {}): Responder =>
	(response, id) =>
		void response.setHeader('content-type', 'application/json').end(documentOf(id, change));

/** Publishes a document on a server of its own. Documents are remembered by their URL, and another test's server may get the same port. */
async function publish(t: TestContext, respond: Responder = described(), path = `/${randomUUID()}/client.json`): Promise<Published> {
	let fetches = 0;
	const upstream = await httpUpstream(t, (request, response) => {
		fetches += 1;
		respond(response, upstream.origin + path, request);
	});
	return { id: upstream.origin + path, secret: null, redirectUri: REDIRECT, fetches: () => fetches };
}

const asking = (client: Published, at = url) => authorizationUrl(at, client, { code_challenge: pkce().challenge });
const visit = async (client: Published, at = url) => {
	const answer = await fetch(asking(client, at), { redirect: 'manual' });
	return { status: answer.status, location: answer.headers.get('location'), html: await answer.text() };
};

test('a client that a document describes gets its tokens, refreshes and revokes, and the owners see it', async (t) => {
	const gateway = await guardedGateway(account, [{ type: 'oauth2' }]);
	const client = await publish(t);
	const { body } = must(await redeem(gateway.url, client, await obtainCode(gateway.url, client, account)), 200);
	must(await ask(gateway.url, bearer(body.access_token)), 200);
	const next = must(await refresh(gateway.url, client, body.refresh_token), 200).body;
	const { clients } = must(await account.get(`/gateways/${gateway.id}/oauth/clients`), 200).body.data;
	assert.deepEqual([clients[0].clientId, clients[0].registration, clients[0].name], [client.id, 'document', METADATA.client_name]);
	must(await sendForm(`${gateway.url}/revoke`, { token: next.refresh_token, client_id: client.id }), 200);
	must(await ask(gateway.url, bearer(next.access_token)), 401);
	// The owners may end the client by its id, which is a URL.
	must(await account.del(`/gateways/${gateway.id}/oauth/clients/${encodeURIComponent(client.id)}`), 200);
});

test('its document is requested once, however many clients need it at once', async (t) => {
	const client = await publish(t);
	for (const { status } of await Promise.all(Array.from({ length: 20 }, () => visit(client)))) assert.equal(status, 200);
	must(await redeem(url, client, await obtainCode(url, client, account)), 200);
	assert.equal(client.fetches(), 1);
});

const BAD: [what: string, respond: Responder][] = [
	['names another client', described({ client_id: 'https://other.example/client.json' })],
	['names no client', described({ client_id: undefined })],
	['holds a secret', described({ client_secret: 'secret' })],
	['wants to prove itself by a secret', described({ token_endpoint_auth_method: 'client_secret_post' })],
	['has no redirect URIs', described({ redirect_uris: undefined })],
	['has a script as a redirect URI', described({ redirect_uris: [REDIRECT, 'javascript:alert(1)'] })],
	['is no JSON', (response) => void response.setHeader('content-type', 'application/json').end('<html>')],
	['is a list', (response) => void response.setHeader('content-type', 'application/json').end('[]')],
	['is not said to be JSON', (response, id) => void response.setHeader('content-type', 'text/html').end(documentOf(id))],
	['is not there', (response) => void response.writeHead(404, { 'content-type': 'application/json' }).end('{}')],
	['fails', (response) => void response.writeHead(500).end()],
	['is cut off', (response) => void response.writeHead(200, { 'content-length': '1000' }).write('{', () => response.destroy())],
	['has 1 MB', described({ client_uri: 'x'.repeat(1_000_000) })],
	[
		'has more than 16 KB, sent without a length',
		(response, id) => {
			response.setHeader('content-type', 'application/json').write(documentOf(id, { client_uri: 'x'.repeat(10_000) }).slice(0, -1));
			response.end(`,"more":"${'x'.repeat(10_000)}"}`);
		},
	],
];

describe('the user is told, and sent nowhere, when the document', () => {
	for (const [what, respond] of BAD) {
		test(`${what}; and it is not asked for again at once`, async (t) => {
			const client = await publish(t, respond);
			for (let time = 0; time < 3; time++) {
				const { status, location, html } = await visit(client);
				assert.deepEqual([status, location], [400, null]);
				assert.ok(!html.includes('value="login"'));
			}
			const token = await redeem(url, client, { code: 'a', verifier: 'v'.repeat(43) });
			assert.equal(must(token, 401).body.error, 'invalid_client');
			assert.equal(client.fetches(), 1);
		});
	}

	test('redirects elsewhere, which is not followed', async (t) => {
		const target = await publish(t);
		const client = await publish(t, (response) => void response.writeHead(302, { location: target.id }).end());
		assert.equal((await visit(client)).status, 400);
		assert.equal(target.fetches(), 0);
	});

	test('is slow: after five seconds nobody waits any more', async (t) => {
		const client = await publish(t, () => undefined);
		const visited = visit(client);
		assert.ok(await isBeforeTimer(20_000, visited), 'somebody waits');
		assert.equal((await visited).status, 400);
	});

	test('names a program that the gateway does not accept, where that is asked for; its other addresses are good', async (t) => {
		const cline = 'vscode://saoudrizwan.claude-dev/callback';
		const client = await publish(t, described({ redirect_uris: [REDIRECT, cline] }));
		const { status, location, html } = await visit({ ...client, redirectUri: cline });
		assert.deepEqual([status, location], [400, null]);
		assert.match(html, /redirect_uri \(vscode:\/\/saoudrizwan.claude-dev\/callback\) must be https, http to 127/);
		assert.equal((await visit(client)).status, 200);
		const accepting = await guardedGateway(account, [{ type: 'oauth2', configuration: { allowedRedirectUris: [cline] } }]);
		assert.equal((await visit({ ...client, redirectUri: cline }, accepting.url)).status, 200);
	});

	test('does not have the redirect URI of the request', async (t) => {
		const client = await publish(t);
		for (const redirectUri of ['https://evil.example/callback', `${REDIRECT}/`])
			assert.deepEqual(await visit({ ...client, redirectUri }).then(({ status, location }) => [status, location]), [400, null]);
	});
});

test('only an https URL with a path, written plainly, names a document; over http, one of this machine', async (t) => {
	const client = await publish(t);
	const { host, origin } = new URL(client.id);
	const { port } = new URL(origin);
	for (const id of [
		`${origin}/`,
		origin,
		`${client.id}#a`,
		`http://a:b@${host}/client.json`,
		`${origin}/a/../client.json`,
		`${origin}/./client.json`,
		`HTTP://${host}/client.json`,
		`http://2130706433:${port}/client.json`,
		`http://127.0.0.1.evil.example:${port}/client.json`,
		`http://10.0.0.1:${port}/client.json`,
		'http://client.example/client.json',
		`${origin}/${'a'.repeat(1000)}`,
		'https://',
	])
		assert.equal((await visit({ ...client, id })).status, 400, id);
	assert.equal(client.fetches(), 0);
});

test('an address that the guard refuses gets no packet', async (t) => {
	const guarded = await startTestService({ env: { EGRESS_ALLOW: '192.0.2.1' } });
	try {
		const gateway = await guardedGateway(await registerAccount(guarded.url), [{ type: 'oauth2' }]);
		const upstream = await httpUpstream(t, (_request, response) => void response.end('{}'));
		for (const host of ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '[::ffff:127.0.0.1]'])
			for (const scheme of ['http', 'https']) {
				const client = { id: `${scheme}://${host}:${upstream.port}/client.json`, secret: null, redirectUri: REDIRECT, fetches: () => 0 };
				assert.equal((await visit(client, gateway.url)).status, 400, client.id);
			}
		assert.equal(upstream.connections(), 0);
	} finally {
		await guarded.stop();
	}
});

describe('a gateway may switch off', () => {
	const metadataOf = async ({ url: at }: GuardedGateway) =>
		must(await send(`${at}/.well-known/oauth-authorization-server`, 'GET'), 200).body;

	test('documents: no client of a URL is known, nothing is fetched, and the metadata say so', async (t) => {
		const gateway = await guardedGateway(account, [{ type: 'oauth2', configuration: { clientMetadataDocuments: false } }]);
		const client = await publish(t);
		assert.equal((await visit(client, gateway.url)).status, 400);
		assert.equal(client.fetches(), 0);
		const { client_id_metadata_document_supported: isSupported, registration_endpoint: endpoint } = await metadataOf(gateway);
		assert.deepEqual([isSupported, endpoint], [false, `${gateway.url}/register`]);
		await registerClient(gateway.url);
	});

	test('registration: it is refused, and the metadata do not name it', async (t) => {
		const gateway = await guardedGateway(account, [{ type: 'oauth2', configuration: { dynamicRegistration: false } }]);
		const refused = await send(`${gateway.url}/register`, 'POST', { body: METADATA });
		assert.equal(refused.status, 403, JSON.stringify(refused.body));
		assert.equal((await metadataOf(gateway)).registration_endpoint, undefined);
		const end = await approve(asking(await publish(t), gateway.url), account);
		assert.ok(end.left && end.url.searchParams.has('code'), 'a document still describes a client');
	});

	test('nothing else: another option is refused with its name', async () => {
		const { id } = await guardedGateway(account, []);
		const answer = await account.post(`/gateways/${id}/auth`, { type: 'oauth2', configuration: { dynamicRegistrations: false } });
		assert.equal(answer.status, 400);
		assert.match(JSON.stringify(answer.body.details), /dynamicRegistrations/);
	});
});
