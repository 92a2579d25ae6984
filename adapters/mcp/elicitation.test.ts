// Tests of questions for which there is no stream, or one that nobody reads: the tool hears of it at once, and its result is answered.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import Joi from 'joi';
import type { AuthMethod, ToolExecutor } from '../../core/contract/kinds.ts';
import type { Call, Json, Question } from '../../core/index.ts';
import { PluginCall } from '../../core/tools/call.ts';
import { NO_IDENTITY } from '../../core/tools/no-identity.ts';
import { type CoreOptions, startCore, type TestCore } from '../../test/helpers/core.ts';
import { addGateway, addTenant, addTool, type Tenant } from '../../test/helpers/samples.ts';
import { askOnStream } from './elicitation.ts';
import mcp from './index.ts';
import { answerWithProgress, type MessageStream } from './stream.ts';

const config = Joi.object({});
const WELL: Question = { timeoutMs: 60_000, message: 'Well?', schema: { type: 'object', properties: { sure: { type: 'boolean' } } } };
const SESSION = `${randomUUID()}.forms`;

const codeOf = (thrown: unknown): Json => (thrown as { code?: string }).code ?? 'none';

/** Asks twice, and returns the codes of what `ask` throws. */
const curious: ToolExecutor = {
	...{ kind: 'executor', name: 'curious', summary: 'Asks.', config },
	async execute(_args, _config, call) {
		const codes = [];
		for (const message of ['First?', 'Second?']) codes.push(await call.ask({ ...WELL, message }).catch(codeOf));
		return { content: [], structured: { codes } as Json };
	},
};
const open: AuthMethod = {
	...{ kind: 'auth', name: 'open', summary: 'Admits all.', config },
	authenticate: async () => ({ method: 'open', subject: 'somebody', scopes: ['tools:read', 'tools:execute'] }),
};

async function startAsking(t: TestContext, options: CoreOptions): Promise<{ core: TestCore; tenant: Tenant }> {
	// The adapter's config is its own.
	const core = await startCore({ ...options, plugins: [mcp, curious, open] as unknown as NonNullable<CoreOptions['plugins']> });
	t.after(async () => core[Symbol.asyncDispose]());
	return { core, tenant: await addTenant(core.store) };
}

for (const [bounds, code] of [
	[{ perAccount: 0 }, 'rate_limited'],
	[{ perProcess: 0 }, 'unavailable'],
] as const)
	test(`without a stream (${code}) both questions are refused, and the result is JSON`, async (t) => {
		const { core, tenant } = await startAsking(t, { streams: bounds });
		const { organizationId, slug } = tenant;
		const { id } = await addGateway(core.store, organizationId, '/one', { type: 'mcp' });
		const method = { type: 'open', isRequired: false, configuration: {}, validationRules: {} };
		await core.store.gateways.addAuth(organizationId, id, randomUUID(), method);
		const tool = await addTool(core.store, organizationId, { name: 'ask', executor: 'curious', executionConfig: {} });
		await core.store.gateways.assign(organizationId, id, [tool.id]);
		await core.store.changes.fresh(0);
		const { statusCode, headers, payload } = await core.server.inject({
			...{ method: 'POST', url: `/${slug}/one` },
			payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } }),
			headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-session-id': SESSION },
		});
		assert.equal(statusCode, 200, payload);
		assert.match(String(headers['content-type']), /^application\/json/);
		assert.deepEqual(JSON.parse(payload).result.structuredContent, { codes: [code, code] });
	});

/** Runs `work` in a call whose events nobody reads. */
async function unread(t: TestContext, work: (call: Call, stream: MessageStream) => Promise<unknown>): Promise<void> {
	const { core, tenant } = await startAsking(t, {});
	const call = new PluginCall(core.services, {
		...{ plugin: 'transport:mcp', organizationId: tenant.organizationId, gateway: null, shelf: null, identity: NO_IDENTITY },
		...{ signal: new AbortController().signal, entry: null, listener: null },
		caller: { method: 'open', subject: 'somebody', scopes: [] },
	});
	const reply = answerWithProgress(call, {
		token: 'token',
		async run(its, stream) {
			const ask = askOnStream({ call: its, session: SESSION, leaving: call.signal, ...stream });
			await work(its.with({ ask }), stream);
			return {};
		},
		fail: () => ({}),
	});
	assert.equal((await reply).status, 200);
}

test('a question that has no room among what the client has not read is refused', async (t) => {
	const heard = Promise.withResolvers<unknown>();
	await unread(t, async (call, { send }) => {
		while (send({ text: 'x'.repeat(1000) }));
		heard.resolve(await call.ask({ ...WELL, message: 'x'.repeat(2000) }).catch((thrown: unknown) => thrown));
	});
	const { code, message } = (await heard.promise) as { code: string; message: string };
	assert.equal(code, 'unavailable');
	assert.match(message, /does not read/);
});
