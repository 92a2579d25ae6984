// Tests of the page that shows the document. The document itself is tested in test/flows/document.test.ts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type SharedService, send, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
before(async () => {
	service = await sharedService();
});
after(() => service.stop());

test('GET /docs is a page that loads everything from this service', async () => {
	const page = await send(`${service.url}/docs`, 'GET');
	assert.equal(page.status, 200);
	assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
	const policy = page.headers.get('content-security-policy') ?? '';
	for (const rule of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"])
		assert.ok(policy.includes(rule), rule);
	assert.doesNotMatch(policy, /unsafe-eval|https?:|\*/);
	assert.doesNotMatch(page.body, /https?:\/\//);
	const asked = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => String(path));
	assert.equal(asked.length, 4);
	for (const path of asked) assert.equal((await send(service.url + path, 'GET')).status, 200, path);
	assert.match((await send(`${service.url}/docs/start.js`, 'GET')).body, /url: '\/openapi\.json'/);
});

test('only its own files are served, with their types', async () => {
	const types = { 'start.js': 'text/javascript', 'swagger-ui.css': 'text/css', 'favicon-32x32.png': 'image/png' };
	for (const [name, type] of Object.entries(types)) {
		const { headers } = await send(`${service.url}/docs/${name}`, 'GET');
		assert.ok(headers.get('content-type')?.startsWith(type), name);
		assert.equal(headers.get('x-content-type-options'), 'nosniff');
	}
	for (const name of ['index.html', 'package.json', '..%2fpackage.json', '%2e%2e', 'swagger-ui-bundle.js.map']) {
		assert.equal((await send(`${service.url}/docs/${name}`, 'GET')).status, 404, name);
	}
});

test('GET / redirects a browser to the page, and is a 404 for other clients', async () => {
	const ask = (method: string, headers: Record<string, string> = {}, body?: string) =>
		fetch(`${service.url}/`, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) });
	const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
	for (const method of ['GET', 'HEAD']) {
		const led = await ask(method, { accept });
		assert.deepEqual([led.status, led.headers.get('location'), led.headers.get('vary')], [302, '/docs', 'accept'], method);
	}
	const others: [method: string, headers: Record<string, string>, body?: string][] = [
		['GET', {}],
		['GET', { accept: 'application/json' }],
		['GET', { accept: '*/*' }],
		['POST', { accept }, '{}'],
		['POST', { 'content-type': 'text/plain' }, 'x'.repeat(2_000_000)],
		['DELETE', {}],
	];
	for (const [method, headers, body] of others) {
		const answer = await ask(method, headers, body);
		const { message, error } = (await answer.json()) as Record<string, unknown>;
		assert.deepEqual(
			[answer.status, error, message],
			[404, 'NOT_FOUND', `There is nothing at ${method} /. The documentation is at /docs.`],
		);
		assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
		assert.notEqual(answer.headers.get('x-ratelimit-remaining'), null);
	}
});
