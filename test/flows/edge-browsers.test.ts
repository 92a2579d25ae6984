// Tests the influence of pages, and of callers who choose the host, on the HTTP edge: addresses come from the configuration alone, only our
// own pages read with credentials or change with the cookie, and no redirect leads elsewhere (rows 35, 43 and 44).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
	CSRF_METHODS,
	CSRF_TYPES,
	EVIL,
	HOST_CASES,
	type HostCase,
	IDS,
	ORIGIN_CASES,
	REDIRECT_NAMES,
	REDIRECT_TARGETS,
} from '../catalog/edge.ts';
import { lines } from '../catalog/wire.ts';
import { fill, managementRoutes } from '../helpers/routes.ts';
import { isSampled, rounds } from '../helpers/sampled.ts';
import { type Account, must, publishGateway, registerAccount, send, startTestService, type TestService } from '../helpers/service.ts';
import { startSmtp, type TestSmtp } from '../helpers/smtp.ts';
import { exchange, type WireAnswer } from '../helpers/wire.ts';

const OWN = 'http://gate.example:8080';
const PAGE = 'http://console.example:3002';

let smtp: TestSmtp;
let service: TestService;
let account: Account;
let gateway: { id: string; url: string; key: string };
before(async () => {
	smtp = await startSmtp();
	service = await startTestService({ env: { PUBLIC_URL: OWN, FRONTEND_URL: PAGE, ...smtp.env } });
	account = await registerAccount(service.url);
	gateway = await publishGateway(account);
});
after(async () => {
	await service.stop();
	await smtp.stop();
});

// ── 35: hosts that a request claims ── ─────────────────────────────────────────────────────────────────────────────

interface Ask {
	method: string;
	path: string;
	body?: object;
}

/** Sends an authenticated request under the host of the case. */
async function asked({ host, origin = '', headers = [] }: HostCase, { method, path, body }: Ask): Promise<WireAnswer> {
	const content = body ? JSON.stringify(body) : '';
	const about = body ? ['content-type: application/json', `content-length: ${content.length}`] : [];
	const head = [`host: ${host}`, `authorization: Bearer ${account.token}`, 'connection: close', ...about, ...headers];
	const { answers } = await exchange(service.url, lines(`${method} ${origin}${path} HTTP/1.1`, ...head) + content);
	return answers[0] ?? assert.fail(`${method} ${path}: no answer`);
}

const told = ({ headers, body }: WireAnswer): string => `${JSON.stringify([...headers])}${body}`.toLowerCase();

let asks = 0;

for (const forged of HOST_CASES) {
	test(`${forged.row}: ${forged.id} changes no address that the service tells, in answers or mails`, async () => {
		const path = new URL(gateway.url).pathname;
		const person = await registerAccount(service.url);
		const guest = `guest${asks++}@example.com`;
		const invite = { method: 'POST', path: `/organizations/${account.organization.id}/invitations`, body: { email: guest } };
		const published = { method: 'POST', path: '/gateways', body: { name: 'g', type: 'mcp', endpoint: `/g${asks}` } };
		const [shown, made, invited] = [
			await asked(forged, { method: 'GET', path: `/gateways/${gateway.id}` }),
			await asked(forged, published),
			await asked(forged, invite),
		];
		assert.equal(JSON.parse(shown.body).data.url, gateway.url);
		assert.equal(JSON.parse(made.body).data.url, `${OWN}/${account.organization.slug}/g${asks}`);
		assert.ok(JSON.parse(invited.body).data.url.startsWith(`${PAGE}/invitation#`), invited.body);
		const document = await asked(forged, { method: 'GET', path: '/openapi.json' });
		assert.deepEqual(JSON.parse(document.body).servers, [{ url: OWN }]);
		const others = [
			await asked(forged, { method: 'GET', path: '/docs' }),
			await asked(forged, { method: 'POST', path, body: {} }),
			await asked(forged, { method: 'GET', path: '/nothing' }),
			await asked(forged, { method: 'GET', path: `/.well-known/oauth-protected-resource${path}` }),
			await asked(forged, { method: 'POST', path: '/auth/login', body: { email: person.email, password: person.password } }),
			await asked(forged, { method: 'POST', path: '/auth/forgot-password', body: { email: person.email } }),
		];
		for (const answer of [shown, made, invited, document, ...others]) {
			assert.ok(answer.status < 500, answer.body);
			assert.ok(!told(answer).includes(EVIL), told(answer));
		}
		const mails = [await smtp.next(), await smtp.next()];
		assert.deepEqual(mails.map(({ to }) => to[0]).sort(), [guest, person.email].sort());
		for (const { raw, mail } of mails) {
			assert.ok(!raw.toLowerCase().includes(EVIL), raw);
			const links = (mail.text ?? '').match(/https?:\/\/[^/\s]+/g);
			assert.deepEqual(new Set(links), new Set([PAGE, OWN]));
		}
	});
}

// ── 43: pages that may read ── ─────────────────────────────────────────────────────────────────────────────────────

const cookie = (): Record<string, string> => ({ cookie: `gatehouse_token=${account.token}` });

for (const [at, { row, id, make }] of ORIGIN_CASES.entries()) {
	test(`${row}: a page of ${id} reads no answer that a credential brought, and no preflight of its passes`, async () => {
		const origin = make(new URL(PAGE));
		const paths = ['/gateways', '/auth/profile', '/auth/login', '/nothing', `/gateways/${gateway.id}`, '/health', '/openapi.json'];
		// The first origin asks for all paths, each other one for some.
		for (const path of paths.filter((_path, place) => at === 0 || isSampled(at + place, 3))) {
			const headers = { ...cookie(), origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' };
			for (const method of ['GET', 'OPTIONS', 'POST']) {
				const answer = await send(service.url + path, method, { headers });
				const names = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));
				assert.deepEqual(names, [], `${method} ${path}`);
				assert.ok(answer.status < 500);
			}
		}
		const atGateway = await send(service.url + new URL(gateway.url).pathname, 'POST', { headers: { origin }, body: {} });
		assert.equal(atGateway.headers.get('access-control-allow-origin'), '*');
		assert.equal(atGateway.headers.get('access-control-allow-credentials'), null);
	});
}

test('43: a page of FRONTEND_URL reads answers with credentials, errors and preflights too', async () => {
	for (const [method, path] of [
		['GET', '/gateways'],
		['GET', '/nothing'],
		['POST', '/auth/login'],
		['OPTIONS', '/gateways'],
	] as const) {
		const { headers } = await send(service.url + path, method, { headers: { origin: PAGE, 'access-control-request-method': 'POST' } });
		assert.equal(headers.get('access-control-allow-origin'), PAGE, path);
		assert.equal(headers.get('access-control-allow-credentials'), 'true', path);
		assert.match(headers.get('vary') ?? '', /origin/i);
		if (method === 'OPTIONS') assert.match(headers.get('access-control-allow-methods') ?? '', /POST/);
	}
});

test('43: there is no redirect: no route takes a place to go on to, and none answers with one', async () => {
	const ids: Record<string, string> = { gateway: gateway.id, organization: account.organization.id };
	const paths = managementRoutes(service)
		.filter(({ method }) => method === 'get')
		.map(({ path }) => fill(path, (meaning) => ids[meaning] ?? gateway.id));
	assert.ok(paths.length > 20, `${paths.length} routes`);
	const parameters = REDIRECT_NAMES.flatMap((name) => REDIRECT_TARGETS.map((target) => `${name}=${encodeURIComponent(target)}`));
	const nth = rounds({ few: 30, all: 7 });
	for (const [place, path] of paths.entries()) {
		for (const parameter of ['', ...parameters.filter((_each, at) => at % nth === place % nth)]) {
			const response = await fetch(`${service.url}${path}?${parameter}`, {
				headers: { authorization: `Bearer ${account.token}` },
				redirect: 'manual',
			});
			const told = `${await response.text()}${JSON.stringify([...response.headers])}`;
			assert.ok(response.status < 300 || response.status >= 400, `${path}?${parameter}: ${response.status}`);
			assert.deepEqual([response.headers.get('location'), response.headers.get('refresh'), told.includes(EVIL)], [null, null, false], path);
		}
	}
	for (const target of REDIRECT_TARGETS) {
		const { answers } = await exchange(service.url, lines(`GET /${target} HTTP/1.1`, 'host: x', 'connection: close'));
		assert.ok(answers[0] && answers[0].status >= 400 && !answers[0].headers.has('location'), target);
	}
});

// ── 44: pages that may change ── ───────────────────────────────────────────────────────────────────────────────────

const withId = (path: string): string => path.replace(IDS.gateway, gateway.id);

/** Checks that the changes of a forged request were not made. */
async function assertUntouched(): Promise<void> {
	const { gateways } = must(await account.get('/gateways'), 200).body.data;
	assert.ok(!gateways.some((each: { name: string; endpoint: string }) => /forged/.test(each.name + each.endpoint)));
	assert.equal(must(await account.get('/auth/profile'), 200).body.data.firstName, 'Ada');
	assert.deepEqual(must(await account.get('/access-keys'), 200).body.data.accessKeys, []);
}

const FOREIGN = [
	{ id: 'no Origin at all', origin: undefined },
	...ORIGIN_CASES.map(({ id, make }) => ({ id, origin: make(new URL(PAGE)) })),
];

for (const { id, origin } of FOREIGN) {
	test(`44: with the cookie, a page of ${id} changes nothing: 403 to each method`, async () => {
		for (const { method, path, body } of CSRF_METHODS) {
			const headers = { ...cookie(), ...(origin !== undefined && { origin }), 'sec-fetch-site': 'same-origin', referer: `${PAGE}/` };
			const answer = await send(service.url + withId(path), method, { headers, body });
			assert.deepEqual([answer.status, answer.body.error], [403, 'FORBIDDEN'], `${method} ${path}`);
		}
		await assertUntouched();
	});
}

for (const { row, type, body } of CSRF_TYPES) {
	test(`${row}: a body of ${type} is no JSON, whoever sends it: 415 (${body.slice(0, 12)})`, async () => {
		for (const headers of [{ ...cookie(), origin: PAGE }, { authorization: `Bearer ${account.token}` }]) {
			const answer = await send(`${service.url}/gateways`, 'POST', { headers: { ...headers, 'content-type': type }, body });
			assert.deepEqual([answer.status, answer.body.error], [415, 'UNSUPPORTED_MEDIA_TYPE']);
		}
		await assertUntouched();
	});
}

test('44: a body without a type is no JSON either', async () => {
	const content = JSON.stringify(CSRF_METHODS[0]?.body);
	const head = [
		'host: x',
		...Object.entries(cookie()).map((pair) => pair.join(': ')),
		`origin: ${PAGE}`,
		`content-length: ${content.length}`,
	];
	const { answers } = await exchange(service.url, lines('POST /gateways HTTP/1.1', ...head, 'connection: close') + content);
	assert.equal(answers[0]?.status, 415);
	await assertUntouched();
});

for (const [name, origin] of Object.entries({ FRONTEND_URL: PAGE, PUBLIC_URL: OWN })) {
	test(`44: with the cookie, a page of ${name} changes what its user may`, async () => {
		const headers = { ...cookie(), origin };
		const body = { name: 'own', type: 'mcp', endpoint: '/own' };
		const made = must(await send(`${service.url}/gateways`, 'POST', { headers, body }), 201);
		const path = `${service.url}/gateways/${made.body.data.id}`;
		must(await send(path, 'PATCH', { headers, body: { name: 'mine' } }), 200);
		must(await send(path, 'DELETE', { headers }), 200);
	});
}
