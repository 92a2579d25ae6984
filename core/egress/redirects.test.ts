// Redirects: which ones are followed, with which headers, and which secrets are never sent along.

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { failure, get, local, textOf } from '../../test/helpers/egress.ts';
import { httpUpstream, type Upstream } from '../../test/helpers/upstream.ts';
import type { OutboundRequest } from '../contract/outbound.ts';

interface Seen {
	method: string;
	url: string;
	body: string;
	headers: IncomingHttpHeaders;
}

/** Redirects `/<status>` to `target`, and answers everything else with the request that it received. */
async function redirecting(t: TestContext, target: (self: Upstream) => string): Promise<Upstream> {
	const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
		const status = Number(/^\/(3\d\d)$/.exec(request.url ?? '')?.[1]);
		const body = await textOf(request);
		if (status) response.writeHead(status, { location: target(upstream) }).end('moved');
		else response.end(JSON.stringify({ method: request.method, url: request.url, body, headers: request.headers }));
	};
	const upstream: Upstream = await httpUpstream(t, answer);
	return upstream;
}

const METHODS: [status: number, sent: string, arrives: string, keepsBody: boolean][] = [
	[301, 'GET', 'GET', false],
	[301, 'POST', 'GET', false],
	[301, 'PUT', 'PUT', true],
	[302, 'POST', 'GET', false],
	[302, 'HEAD', 'HEAD', false],
	[302, 'DELETE', 'DELETE', true],
	[303, 'POST', 'GET', false],
	[303, 'PUT', 'GET', false],
	[307, 'POST', 'POST', true],
	[307, 'GET', 'GET', false],
	[308, 'PATCH', 'PATCH', true],
];

for (const [status, sent, arrives, keepsBody] of METHODS)
	test(`A ${status} after ${sent} is followed with ${arrives}`, async (t) => {
		const upstream = await redirecting(t, () => '/there');
		const withBody = sent !== 'GET' && sent !== 'HEAD';
		const egress = local(t);
		const options: OutboundRequest = {
			method: sent,
			url: `${upstream.origin}/${status}`,
			headers: { 'content-type': 'text/plain', 'x-key': 'k' },
		};
		const response = await egress.request(withBody ? { ...options, body: 'payload' } : options);
		assert.equal(response.url, `${upstream.origin}/there`);
		if (arrives === 'HEAD') return assert.equal(response.body.length, 0);
		const arrived = JSON.parse(response.body.toString()) as Seen;
		assert.deepEqual([arrived.method, arrived.body, arrived.headers['x-key']], [arrives, keepsBody ? 'payload' : '', 'k']);
		assert.equal(arrived.headers['content-type'], withBody && !keepsBody ? undefined : 'text/plain');
	});

const CREDENTIALS = { authorization: 'Bearer s', cookie: 's=1', 'x-api-key': 's', 'proxy-authorization': 's', 'x-of-theirs': 's' };
const PLAIN = { accept: 'text/plain', 'accept-language': 'de', 'content-type': 'text/plain', 'user-agent': 'mine' };

test('Headers do not follow to another origin, the harmless ones excepted, in request and in fetch', async (t) => {
	const other = await redirecting(t, () => '');
	const upstream = await redirecting(t, () => `${other.origin}/there`);
	const egress = local(t);
	const headers = { ...CREDENTIALS, ...PLAIN };
	const { body } = await egress.request({ method: 'POST', url: `${upstream.origin}/307`, headers, body: 'payload' });
	const fetched = await egress.fetch(`${upstream.origin}/307`, { method: 'POST', headers, body: 'payload' });
	for (const text of [body.toString(), await fetched.text()]) {
		const seen = JSON.parse(text) as Seen;
		for (const name of Object.keys(CREDENTIALS)) assert.equal(seen.headers[name], undefined, name);
		for (const [name, value] of Object.entries(PLAIN)) assert.equal(seen.headers[name], value);
		assert.equal(seen.body, 'payload');
	}
});

const TARGETS: Record<string, (self: Upstream) => string> = {
	'a private address': () => 'http://10.0.0.1/',
	'another spelling of loopback': ({ port }) => `http://2130706434:${port}/`,
	'a metadata address': () => 'http://169.254.169.254/latest/',
	'a refused port': () => 'http://127.0.0.1:6379/',
	'a URL with userinfo': ({ port }) => `http://user:pass@127.0.0.1:${port}/`,
	'another scheme': () => 'file:///etc/passwd',
};

for (const [what, target] of Object.entries(TARGETS))
	test(`A redirect to ${what} is refused with every status, in request and in fetch`, async (t) => {
		const upstream = await redirecting(t, target);
		const egress = local(t);
		for (const status of [301, 302, 303, 307, 308]) {
			await failure(egress.request(get(`${upstream.origin}/${status}`)), 'egress_refused');
			await failure(egress.fetch(`${upstream.origin}/${status}`), 'egress_refused');
		}
	});

test('Three redirects are followed, a fourth is refused', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		const left = Number(request.url?.slice(1));
		if (left > 0) response.writeHead(302, { location: `/${left - 1}` });
		response.end(request.url);
	});
	const egress = local(t);
	assert.equal((await egress.request(get(`${upstream.origin}/3`))).url, `${upstream.origin}/0`);
	assert.equal((await egress.fetch(`${upstream.origin}/3`)).url, `${upstream.origin}/0`);
	await failure(egress.request(get(`${upstream.origin}/4`)), 'egress_refused');
	await failure(egress.fetch(`${upstream.origin}/4`), 'egress_refused');
	await failure(egress.request(get(`${upstream.origin}/2`, { maxRedirects: 1 })), 'egress_refused');
	const { status, headers } = await egress.request(get(`${upstream.origin}/2`, { maxRedirects: 0 }));
	assert.deepEqual([status, headers['location']], [302, '/1']);
});

test('A redirect without a target is an answer; one whose target is not a URL is a failure', async (t) => {
	const upstream = await httpUpstream(t, (request, response) => {
		// A slip of many servers: with the path `/`, what follows is read as a host.
		response.writeHead(302, request.url?.startsWith('/?') ? { location: `/${request.url}` } : {}).end('here');
	});
	const egress = local(t);
	assert.equal((await egress.request(get(upstream.origin))).body.toString(), 'here');
	const { message } = await failure(egress.request(get(`${upstream.origin}/?key=canary`)), 'upstream_failed');
	assert.match(message, /redirected to something that is not a URL/);
});
