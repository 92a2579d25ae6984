// Tests that no route takes a query parameter that it does not declare: mistyped ones are reported, not ignored. Nor does any route take a
// parameter that is not UTF-8.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { METADATA } from '../helpers/oauth.ts';
import { fill, ids, makeTenant, managementRoutes, NOTHING_THERE, nameOf, type Tenant } from '../helpers/routes.ts';
import { type Answer, must, publishGateway, send, startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let tenant: Tenant;
before(async () => {
	service = await startTestService();
	tenant = await makeTenant(service, 'queries');
});
after(() => service.stop());

test('every route answers an unknown query parameter with a 400 that names it, and does nothing', async () => {
	// Browsers request the files of the reference, which no query can affect.
	const routes = managementRoutes(service).filter((route) => !route.path.startsWith('/docs') && !NOTHING_THERE.includes(nameOf(route)));
	assert.ok(routes.length >= 50, `only ${routes.length}`);
	const headers = { authorization: `Bearer ${tenant.account.token}` };
	// Removals come first: if one of them took effect, later requests would find nothing.
	for (const route of routes.toSorted((a, b) => a.method.localeCompare(b.method))) {
		for (const name of ['bogus', '__proto__', 'limit[gt]']) {
			const url = `${service.url}${fill(route.path, ids(tenant))}?${encodeURIComponent(name)}=1`;
			const { status, body } = await send(url, route.method.toUpperCase(), { headers });
			const faults = (body.details ?? []).map(({ path }: { path: string }) => path);
			assert.equal(status, 400, `${nameOf(route)} took ${name}`);
			assert.ok(faults.includes(`query/${name}`), `${nameOf(route)}: ${JSON.stringify(body)}`);
			const told = body.details.find(({ path }: { path: string }) => path === `query/${name}`)?.message;
			assert.match(told, /is not a parameter of this operation$|^is not a name that a body may use/, nameOf(route));
		}
	}
});

/**
 * Malformed values: a lone surrogate, a byte that begins no character, a truncated one, and invalid percent-encodings (RFC 3986 §2.1, RFC
 * 3629 §3).
 */
const MALFORMED = ['%ED%A0%80', '%FF', 'a%C3', '%', '%zz', '100%'];

function assertTold(answer: Answer, at: string, from: string): void {
	const { body } = must(answer, 400);
	assert.deepEqual(body.details, [{ path: at, message: 'is not UTF-8 in percent-encoding.' }], from);
	assert.equal(body.message, `${at} is not UTF-8 in percent-encoding.`);
	assert.match(body.requestId, /./);
}

test('every route of the management API answers a query that is no UTF-8 with a 400 that names the parameter', async () => {
	const headers = { authorization: `Bearer ${tenant.account.token}` };
	for (const route of managementRoutes(service).toSorted((a, b) => a.method.localeCompare(b.method))) {
		const url = service.url + fill(route.path, ids(tenant));
		assertTold(await send(`${url}?ok=1&q=%ED%A0%80`, route.method.toUpperCase(), { headers }), 'query/q', nameOf(route));
	}
	for (const text of MALFORMED) assertTold(await send(`${service.url}/apis?q=${text}`, 'GET', { headers }), 'query/q', text);
	assertTold(await send(`${service.url}/apis?%FF=1`, 'GET', { headers }), 'query/%FF', 'a name');
	assertTold(await send(`${service.url}/apis?a~b%2Fc=%FF`, 'GET', { headers }), 'query/a~0b~1c', 'a name to escape');
	must(await send(`${service.url}/apis?q=%F0%9F%90%88+%C3%A9%25`, 'GET', { headers }), 200);
});

test('so do gateways: their transport, their OAuth server, its pages, and what is not there', async () => {
	const gateway = await publishGateway(tenant.account, { auth: 'oauth2' });
	const { pathname } = new URL(gateway.url);
	const asked: [method: string, path: string][] = [
		['GET', pathname],
		['GET', `${pathname}/authorize`],
		['POST', `${pathname}/authorize`],
		['GET', `${pathname}/authorize/forgotten-password`],
		['GET', `${pathname}/.well-known/oauth-protected-resource`],
		['GET', `/.well-known/oauth-protected-resource${pathname}`],
		['GET', `${pathname}/nothing`],
	];
	for (const [method, path] of asked)
		for (const text of MALFORMED)
			assertTold(await send(`${service.url}${path}?state=${text}`, method), 'query/state', `${method} ${path} ${text}`);
});

test('MCP says so as a JSON-RPC error', async () => {
	const { url } = await publishGateway(tenant.account, { auth: 'oauth2' });
	for (const text of MALFORMED) {
		const { body } = must(await send(`${url}?state=${text}`, 'POST'), 400);
		const details = [{ path: 'query/state', message: 'is not UTF-8 in percent-encoding.' }];
		const message = 'query/state is not UTF-8 in percent-encoding.';
		assert.deepEqual(body, { jsonrpc: '2.0', id: null, error: { code: -32600, message, data: { details } } }, text);
	}
});

test('OAuth endpoints say so in their own form, of a query as of a form', async () => {
	const { url } = await publishGateway(tenant.account, { auth: 'oauth2' });
	const form = { 'content-type': 'application/x-www-form-urlencoded' };
	for (const at of ['token', 'revoke']) {
		const { body } = must(await send(`${url}/${at}?x=%FF`, 'POST', { body: 'client_id=a', headers: form }), 400);
		assert.deepEqual(body, { error: 'invalid_request', error_description: 'query/x is not UTF-8 in percent-encoding.' });
		for (const text of MALFORMED) {
			const answer = must(await send(`${url}/${at}`, 'POST', { body: `client_id=a&token=${text}`, headers: form }), 400);
			assert.deepEqual(answer.body, { error: 'invalid_request', error_description: '/token is not UTF-8 in percent-encoding.' }, text);
		}
	}
	const { body } = must(await send(`${url}/register?x=%FF`, 'POST', { body: METADATA }), 400);
	assert.deepEqual(body, { error: 'invalid_client_metadata', error_description: 'query/x is not UTF-8 in percent-encoding.' });
	assertTold(await send(`${url}/authorize`, 'POST', { body: 'action=%FF', headers: form }), '/action', 'the form of a page');
});
