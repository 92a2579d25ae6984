// Tests of dry runs of every kind of executor: the shown requests, and that none is sent. HTTP: test/flows/upstream-credentials.test.ts.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import Joi from 'joi';
import { local } from '../../test/helpers/egress.ts';
import { addTenant, addTool } from '../../test/helpers/samples.ts';
import { SECRETS } from '../../test/helpers/service.ts';
import { silent } from '../../test/helpers/silent.ts';
import { testStore } from '../../test/helpers/store.ts';
import { canary } from '../../test/helpers/upstream.ts';
import { createArgumentChecks } from '../arguments/checks.ts';
import type { Call } from '../contract/context.ts';
import type { ToolExecutor } from '../contract/kinds.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { HOOK_MS } from '../process/hooks.ts';
import { Registry } from '../registry/registry.ts';
import { createSecrets } from '../secrets/envelopes.ts';
import { Recorder } from '../store/recorder.ts';
import { createSigner } from '../upstreams/credentials.ts';
import type { Services } from './call-parts.ts';
import { toolLocation } from './entry.ts';
import { createInvoker } from './invoke.ts';

const caller = { method: 'management', subject: 'user:1', scopes: ['tools:execute'] as const };

type Execution = Pick<ToolExecutor, 'execute'> & Partial<Pick<ToolExecutor, 'preview'>>;

/** Creates a tool of this executor; `dryRun` runs it dry, `runs` counts the recorded runs. */
async function setUp(t: TestContext, execution: Execution, config: JsonObject = {}) {
	const store = await testStore();
	const { organizationId } = await addTenant(store);
	const secrets = createSecrets(SECRETS.ENCRYPTION_KEY);
	const registry = new Registry();
	const fields = Joi.object({ token: Joi.string().meta({ secret: true }), host: Joi.string() });
	registry.add({ kind: 'executor', name: 'odd', summary: 'Odd.', config: fields, ...execution });
	const tool = await addTool(store, organizationId, { type: 'odd', executor: 'odd' });
	const executionConfig = registry.seal('executor', 'odd', config, secrets, toolLocation(organizationId, tool.id));
	await store.tools.update(organizationId, tool.id, { executionConfig });
	let runs = 0;
	const recorder = new Recorder(store, silent);
	recorder.request = () => {
		runs += 1;
	};
	t.after(async () => {
		await recorder.close();
		await store.close();
	});
	const argumentChecks = createArgumentChecks(async (organizationId) => organizationId);
	const tokens = { get: () => assert.fail('a token was asked for'), close: async () => undefined };
	const opened: string[] = [];
	const open: typeof secrets.open = (envelope, ...where) => {
		opened.push(envelope);
		return secrets.open(envelope, ...where);
	};
	const watching = { ...secrets, open };
	// The services that a dry run uses.
	const services = { log: silent, egress: local(t), store, signer: createSigner({ secrets: watching, tokens }) } as unknown as Services;
	const invoker = createInvoker({ services: () => services, registry, secrets: watching, recorder, argumentChecks });
	const dryRun = () => invoker.execute(organizationId, tool.id, {}, { caller, signal: new AbortController().signal, isDry: true });
	return { dryRun, opened, runs: () => runs };
}

test('a preview is shown as it is, with the secrets of the config hidden, and without the executor’s run', async (t) => {
	const { dryRun, opened, runs } = await setUp(
		t,
		{
			execute: () => assert.fail('it was run'),
			preview: async (_args, config) => {
				const { token, host } = config as { token: string; host: string };
				return { service: 'Pets', metadata: { authorization: [`Bearer ${token}`], [`x-${token}`]: host } };
			},
		},
		{ token: 'canary', host: 'pets.example' },
	);
	const { request, isError } = await dryRun();
	assert.equal(isError, undefined);
	assert.deepEqual(request, { service: 'Pets', metadata: { authorization: ['Bearer ••••'], 'x-••••': 'pets.example' } });
	assert.deepEqual([opened, runs()], [[], 0]);
});

test('what an executor sends by `call.fetch` is shown, and not sent', async (t) => {
	const upstream = await canary(t);
	const { dryRun } = await setUp(
		t,
		{
			execute: async (_args, config, call) => {
				const { token } = config as { token: string };
				await call.fetch(`http://127.0.0.1:${upstream.port}/a?key=${token}`, {
					method: 'POST',
					headers: { 'X-A': token },
					body: `{"t":"${token}"}`,
				});
				return assert.fail('it got an answer');
			},
		},
		{ token: 'canary' },
	);
	const { request } = await dryRun();
	assert.deepEqual(
		{ ...request, headers: { ...(request?.['headers'] as object), 'user-agent': '' } },
		{
			method: 'POST',
			url: `http://127.0.0.1:${upstream.port}/a?key=••••`,
			headers: { 'content-type': 'text/plain;charset=UTF-8', 'user-agent': '', 'x-a': '••••' },
			body: '{"t":"••••"}',
			bodyEncoding: 'text',
		},
	);
	assert.equal(upstream.connections(), 0);
});

test('headers that hold nothing but secrets are hidden, whichever part wrote them', async (t) => {
	const upstream = await canary(t);
	const headers = {
		Authorization: 'Digest username="canary", response="canary"',
		'Proxy-Authorization': 'canary',
		Cookie: 'sid=canary; theme="canary=1"; canary',
		'X-Api-Key': 'canary',
		'api-key': 'canary',
		'X-Auth-Token': 'canary',
		'X-Trace': 'seen',
	};
	const { dryRun } = await setUp(t, {
		execute: async (_args, _config, call) => {
			await call.request({ method: 'GET', url: `http://127.0.0.1:${upstream.port}/`, headers });
			return { content: [] };
		},
	});
	const { request } = await dryRun();
	assert.deepEqual(request?.['headers'], {
		'user-agent': 'gatehouse',
		authorization: 'Digest ••••',
		'proxy-authorization': '••••',
		cookie: 'sid=••••; theme=••••; ••••',
		'x-api-key': '••••',
		'api-key': '••••',
		'x-auth-token': '••••',
		'x-trace': 'seen',
	});
});

test('an executor that ignores the end of the dry run sends nothing either, and its first request is shown', async (t) => {
	const upstream = await canary(t);
	const { dryRun, runs } = await setUp(t, {
		execute: async (_args, _config, call) => {
			for (const path of ['first', 'second', 'third'])
				await call.request({ method: 'GET', url: `http://127.0.0.1:${upstream.port}/${path}` }).catch(() => undefined);
			return { content: [{ type: 'text', text: 'done' }] };
		},
	});
	const { request } = await dryRun();
	assert.equal(request?.['url'], `http://127.0.0.1:${upstream.port}/first`);
	assert.deepEqual([upstream.connections(), runs()], [0, 0]);
});

test('a tool that sends nothing, or uses its own sockets, reports that there is nothing to show', async (t) => {
	const silentTool = await setUp(t, { execute: async () => ({ content: [] }) });
	await assert.rejects(silentTool.dryRun(), {
		code: 'not_implemented',
		message: /sends no request that could be shown\. Run it without dryRun\./,
	});
	const upstream = await canary(t);
	const dialling = await setUp(t, {
		execute: async (_args, _config, call) => {
			const { address, port } = await call.connect('127.0.0.1', upstream.port);
			return assert.fail(`it may dial ${address}:${port}`);
		},
	});
	await assert.rejects(dialling.dryRun(), { code: 'not_implemented', message: /protocol whose requests cannot be shown/ });
	const taking = await setUp(t, {
		execute: (_args, _config, call) => call.exchange(upstream.origin, async () => assert.fail('its turn came')),
	});
	await assert.rejects(taking.dryRun(), { code: 'not_implemented', message: /protocol whose requests cannot be shown/ });
	assert.equal(upstream.connections(), 0);
});

test('refusals of the egress guard and invalid arguments are reported like in a run', async (t) => {
	const refused = await setUp(t, {
		execute: async (_args, _config, call) => {
			await call.request({ method: 'GET', url: 'http://10.0.0.1/' });
			return { content: [] };
		},
	});
	const { isError, error } = await refused.dryRun();
	assert.deepEqual([isError, error?.code], [true, 'egress_refused']);
	const previewing = await setUp(t, {
		execute: () => assert.fail('it was run'),
		preview: async (_args, _config, call) => {
			const { address } = await call.connect('127.0.0.1', 8080);
			await call.connect('10.0.0.1', 8080);
			return { address };
		},
	});
	assert.equal((await previewing.dryRun()).error?.code, 'egress_refused');
	const header = await setUp(t, {
		execute: async (_args, _config, call) => {
			await call.request({ method: 'GET', url: 'http://127.0.0.1:8080/', headers: { Host: 'x' } });
			return { content: [] };
		},
	});
	await assert.rejects(header.dryRun(), { code: 'validation_failed', message: /Host/ });
});

test('a dry run begins no job and sends no webhook', async (t) => {
	for (const begin of [
		(call: Call) => call.jobs.add('x', {}),
		(call: Call) => call.deliver({ url: 'http://127.0.0.1:8080/', body: {} }),
		(call: Call) => call.deliveries.get('x'),
	]) {
		const { dryRun } = await setUp(t, {
			execute: async (_args, _config, call) => {
				await begin(call);
				return { content: [] };
			},
		});
		await assert.rejects(dryRun(), { code: 'not_implemented' });
	}
});

test('a preview that never settles is a failed run that names it', async (t) => {
	const { dryRun } = await setUp(t, { execute: async () => assert.fail('it ran'), preview: () => begun() });
	const { promise: hasBegun, resolve } = Promise.withResolvers<void>();
	const begun = (): Promise<never> => {
		resolve();
		return new Promise(() => undefined);
	};
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const running = dryRun();
	await hasBegun;
	t.mock.timers.tick(HOOK_MS);
	const { isError, error } = await running;
	assert.deepEqual([isError, error], [true, { code: 'upstream_timeout', message: 'executor:odd: preview gave no answer within 30 s.' }]);
});
