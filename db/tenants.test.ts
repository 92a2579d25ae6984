// Isolation of organizations, whose rows do not exist for each other, and lossless paging of lists.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Actor, Listed, Page, RunKind, SkillBounds, SkillEdit, Store } from '../core/store/store.ts';
import { addApi, addGateway, addTenant, addTool, batchOf, draft, importRun, operation, schema } from '../test/helpers/samples.ts';
import { type TestStore, testStore } from '../test/helpers/store.ts';

let store: TestStore;
before(async () => {
	store = await testStore();
});
after(() => store.close());

const PAGE = { limit: 100 };

const DOCUMENT = { path: 'SKILL.md', mimeType: 'text/markdown', isText: true, content: Buffer.from('x') };
const SKILL: SkillEdit = { name: 'a', description: 'a', frontmatter: {}, arguments: [], put: [DOCUMENT], drop: [] };
const BOUNDS: SkillBounds = { skills: 10, bytes: 1000, skillBytes: 1000, skillFiles: 10, assigned: 10 };

const AGENTS: RunKind = { kind: 'agent', perAccount: null, perAccountUnfinished: null, maxLosses: 5 };
const QUESTION = { key: 'q', nodeId: 'q', message: '', schema: {}, approvers: null, until: null };
const SAVED = { changelog: 'c', createdBy: null };
const KEPT = { versions: 10, chars: 10_000 };
const SCHEDULE = { cron: '0 0 1 1 *', timeZone: 'UTC', missed: 'skip' as const, overlap: 'skip' as const, input: 's' };
const PLANNED = { kind: 'agent', definition: null, firstAt: new Date('2099-01-01T00:00:00Z') };
const RULE = {
	...{ name: 'r', kind: 'error_rate' as const, apiId: null, bound: 0.5, windowMinutes: 5, minCalls: 1 },
	...{ url: 'u', secret: 's' },
};
const HOOK = { name: 'h', scheme: 'standard' as const, secret: 's' };

/** Makes one of everything that an organization can have. */
async function furnish(store: Store) {
	const { organizationId, userId, slug } = await addTenant(store);
	const api = (await addApi(store, organizationId)).id;
	await store.apis.putCredential(organizationId, { apiId: api, type: 'api_key', origin: 'https://pets.example', secret: 's' });
	const writer = (await store.apis.beginImport(organizationId, api)) ?? assert.fail();
	await writer.operations(batchOf(operation('a')));
	await writer.commit(schema);
	const operationId = (await store.apis.operations(organizationId, api, PAGE)).items[0]?.id ?? assert.fail();
	const actor: Actor = { userId, email: 'a@example.com', accessKeyId: null, address: '::1', userAgent: null, requestId: 'r' };
	const asked = { actor, body: Buffer.from('{}'), ...importRun(organizationId) };
	const imported = await store.imports.create(organizationId, api, asked);
	assert.equal(imported?.state, 'created');
	const job = imported.job.id;
	const schemaId = (await store.apis.schemas(organizationId, api, PAGE)).items[0]?.id ?? assert.fail();
	const tool = (await addTool(store, organizationId)).id;
	const gateway = (await addGateway(store, organizationId)).id;
	const skill = (await store.skills.create(organizationId, SKILL, BOUNDS)).id;
	const skillAssignment = (await store.skills.assign(organizationId, gateway, skill, BOUNDS)).assignment.id;
	const connection = { name: 'm', provider: 'p', connection: {}, configVersion: 1, configuration: {}, model: null };
	const llmProvider = (await store.llmProviders.create(organizationId, randomUUID(), connection, 10)).id;
	await store.llmProviders.settle({ organizationId, id: llmProvider }, null, null);
	const pipeline = { nodes: [], edges: [] };
	const agent = (await store.agents.create(organizationId, randomUUID(), { name: 'a', description: '', pipeline, settings: {} }, 10)).id;
	const { run: agentRun } = importRun(organizationId);
	const started = await store.agents.start({ ...agentRun, kind: AGENTS.kind }, AGENTS, { agentId: agent, revision: 1, startedBy: null });
	const execution = started?.execution.run.id ?? assert.fail();
	const question = (await store.agents.ask(organizationId, execution, QUESTION))?.id ?? assert.fail();
	const webhook = (await store.agents.addWebhook(organizationId, agent, randomUUID(), HOOK, 10))?.id ?? assert.fail();
	await store.agents.saveVersion(organizationId, agent, SAVED, KEPT);
	await store.agents.putSchedule(organizationId, agent, SCHEDULE, PLANNED);
	const alertRule = (await store.alerts.create(organizationId, randomUUID(), { ...RULE, toolId: tool }, 10))?.id ?? assert.fail();
	await store.alertDesk.begin({ organizationId, id: alertRule }, tool, { digest: null, untold: {} });
	const assignment = (await store.gateways.assign(organizationId, gateway, [tool]))[0]?.id ?? assert.fail();
	const none = { type: 'none', isRequired: true, configuration: {}, validationRules: {} };
	const auth = (await store.gateways.addAuth(organizationId, gateway, randomUUID(), none))?.id ?? assert.fail();
	const hash = Buffer.from(gateway);
	const newKey = { name: 'k', prefix: 'p', scopes: [], expiresAt: null, hash };
	const key = (await store.gateways.addKey(organizationId, gateway, newKey))?.id ?? assert.fail();
	await store.records.put(organizationId, { plugin: 'p', gatewayId: gateway }, 'key', { a: 1 }, { tags: ['t'] });
	return {
		organizationId,
		userId,
		slug,
		api,
		job,
		asked,
		schemaId,
		operationId,
		tool,
		skill,
		llmProvider,
		agent,
		execution,
		question,
		webhook,
		alertRule,
		skillAssignment,
		gateway,
		assignment,
		auth,
		hash,
		key,
	};
}

const LIMITS = { perMonth: 10, holders: [{ holder: 'run:1', period: 'all' as const, limit: 10 }] };

type Furniture = Awaited<ReturnType<typeof furnish>>;

/** Each verb that takes an id, called by organization `me` with ids of `it`. */
const VERBS: Record<string, (store: Store, me: string, it: Furniture) => Promise<unknown>> = {
	'apis.get': (store, me, it) => store.apis.get(me, it.api),
	'apis.update': (store, me, it) => store.apis.update(me, it.api, { name: 'x', baseUrl: 'https://evil.example' }),
	'apis.update of a version': (store, me, it) => store.apis.update(me, it.api, { name: 'x' }, 1),
	'apis.remove of a version': (store, me, it) => store.apis.remove(me, it.api, false, 1),
	'apis.remove': (store, me, it) => store.apis.remove(me, it.api, false),
	'apis.credentials': (store, me, it) => store.apis.credentials(me, it.api),
	'apis.putCredential': (store, me, it) =>
		store.apis.putCredential(me, { apiId: it.api, type: 'api_key', origin: 'https://x', secret: 's' }),
	'apis.dropCredential': (store, me, it) => store.apis.dropCredential(me, { apiId: it.api, type: 'api_key', scheme: null }),
	'apis.beginImport': (store, me, it) => store.apis.beginImport(me, it.api),
	'apis.schemas': (store, me, it) => store.apis.schemas(me, it.api, PAGE),
	'apis.source': (store, me, it) => store.apis.source(me, it.api),
	'apis.schema': (store, me, it) => store.apis.schema(me, it.api, it.schemaId),
	'imports.create': (store, me, it) => store.imports.create(me, it.api, it.asked),
	'imports.list': (store, me, it) => store.imports.list(me, it.api, PAGE),
	'imports.get': (store, me, it) => store.imports.get(me, it.api, it.job),
	'imports.cancel': (store, me, it) => store.imports.cancel(me, it.api, it.job),
	'apis.operations': (store, me, it) => store.apis.operations(me, it.api, PAGE),
	'apis.countOperations': (store, me, it) => store.apis.countOperations(me, it.api),
	'tools.get': (store, me, it) => store.tools.get(me, it.tool),
	'tools.update': (store, me, it) => store.tools.update(me, it.tool, { name: 'x' }),
	'tools.update of a version': (store, me, it) => store.tools.update(me, it.tool, { name: 'x' }, 1),
	'tools.remove of a version': (store, me, it) => store.tools.remove(me, it.tool, false, 1),
	'tools.remove': (store, me, it) => store.tools.remove(me, it.tool, false),
	'tools.list of an API': (store, me, it) => store.tools.list(me, PAGE, { apiId: it.api }),
	'tools.generate': (store, me, it) => {
		const tool = draft({ name: 'x', description: 'x', parameters: {} });
		return store.tools.generate(me, it.api, [{ operationId: it.operationId, tool }]);
	},
	'llmProviders.get': (store, me, it) => store.llmProviders.get(me, it.llmProvider),
	'llmProviders.update': (store, me, it) => store.llmProviders.update(me, it.llmProvider, { name: 'x' }),
	'llmProviders.remove': (store, me, it) => store.llmProviders.remove(me, it.llmProvider),
	'llmProviders.usage': async (store, me, it) => [...(await store.llmProviders.usage(me, [it.llmProvider]))],
	'llmProviders.reserve': (store, me, it) => store.llmProviders.reserve({ organizationId: me, id: it.llmProvider }, 1, LIMITS, 1000),
	'llmProviders.settle': (store, me, it) => store.llmProviders.settle({ organizationId: me, id: it.llmProvider }, null, null),
	'agents.get': (store, me, it) => store.agents.get(me, it.agent),
	'agents.update': (store, me, it) => store.agents.update(me, it.agent, { name: 'x' }),
	'agents.update of a version': (store, me, it) => store.agents.update(me, it.agent, { name: 'x' }, 1),
	'agents.remove': (store, me, it) => store.agents.remove(me, it.agent),
	'agents.start': (store, me, it) => {
		const run = { ...importRun(me).run, kind: AGENTS.kind };
		return store.agents.start(run, AGENTS, { agentId: it.agent, revision: 1, startedBy: null });
	},
	'agents.executions': async (store, me, it) => (await store.agents.executions(me, it.agent, { limit: 9, offset: 0 })).executions,
	'agents.execution': (store, me, it) => store.agents.execution(me, it.agent, it.execution),
	'agents.executionOf': (store, me, it) => store.agents.executionOf(me, it.execution),
	'agents.summaryOf': (store, me, it) => store.agents.summaryOf(me, it.execution),
	'agents.usage': async (store, me, it) => (await store.agents.usage(me, it.agent)).executions || null,
	'agents.ask': (store, me, it) => store.agents.ask(me, it.execution, QUESTION),
	'agents.questions': async (store, me, it) => (await store.agents.questions(me, PAGE, { runId: it.execution })).items,
	'agents.asking': async (store, me, it) => (await store.agents.asking(me, [it.execution])).size || null,
	'agents.question': (store, me, it) => store.agents.question(me, it.question),
	'agents.questionOf': (store, me, it) => store.agents.questionOf(me, it.execution, QUESTION.key),
	'agents.answered': (store, me, it) => store.agents.answered(me, it.execution, QUESTION.key, 'x'),
	'agents.versions': (store, me, it) => store.agents.versions(me, it.agent),
	'agents.version': (store, me, it) => store.agents.version(me, it.agent, 0),
	'agents.saveVersion': (store, me, it) => store.agents.saveVersion(me, it.agent, SAVED, KEPT),
	'agents.restoreVersion': (store, me, it) => store.agents.restoreVersion({ organizationId: me, agentId: it.agent, index: 0 }, SAVED, KEPT),
	'agents.schedule': (store, me, it) => store.agents.schedule(me, it.agent),
	'agents.putSchedule': (store, me, it) => store.agents.putSchedule(me, it.agent, SCHEDULE, PLANNED),
	'agents.removeSchedule': (store, me, it) => store.agents.removeSchedule(me, it.agent),
	'agents.nameOf': (store, me, it) => store.agents.nameOf(me, 'agent', it.agent),
	'agents.webhooks': (store, me, it) => store.agents.webhooks(me, it.agent, PAGE),
	'agents.webhook': (store, me, it) => store.agents.webhook(me, it.agent, it.webhook),
	'agents.addWebhook': (store, me, it) => store.agents.addWebhook(me, it.agent, randomUUID(), HOOK, 10),
	'agents.updateWebhook': (store, me, it) => store.agents.updateWebhook(me, it.agent, it.webhook, { name: 'x' }),
	'agents.removeWebhook': (store, me, it) => store.agents.removeWebhook(me, it.agent, it.webhook),
	'alerts.get': (store, me, it) => store.alerts.get(me, it.alertRule),
	'alerts.create of a tool': (store, me, it) => store.alerts.create(me, randomUUID(), { ...RULE, toolId: it.tool }, 10),
	'alerts.create of an API': (store, me, it) => store.alerts.create(me, randomUUID(), { ...RULE, toolId: null, apiId: it.api }, 10),
	'alerts.update': (store, me, it) => store.alerts.update(me, it.alertRule, { name: 'x' }),
	'alerts.update of a version': (store, me, it) => store.alerts.update(me, it.alertRule, { name: 'x' }, 1),
	'alerts.remove': (store, me, it) => store.alerts.remove(me, it.alertRule),
	'alertDesk.begin': (store, me, it) =>
		store.alertDesk.begin({ organizationId: me, id: it.alertRule }, 'another', { digest: null, untold: {} }),
	'alertDesk.end': (store, me, it) => store.alertDesk.end({ organizationId: me, ruleId: it.alertRule, subject: it.tool }, {}),
	'skills.get': (store, me, it) => store.skills.get(me, it.skill),
	'skills.content': (store, me, it) => store.skills.content(me, it.skill, 'SKILL.md'),
	'skills.update': (store, me, it) => store.skills.update(me, it.skill, () => SKILL, { bounds: BOUNDS, ifVersion: undefined }),
	'skills.remove': (store, me, it) => store.skills.remove(me, it.skill, false),
	'skills.ofGateway': (store, me, it) => store.skills.ofGateway(me, it.gateway, PAGE),
	'skills.assign': (store, me, it) => store.skills.assign(me, it.gateway, it.skill, BOUNDS),
	'skills.unassign': (store, me, it) => store.skills.unassign(me, it.gateway, it.skillAssignment),
	'gateways.get': (store, me, it) => store.gateways.get(me, it.gateway),
	'gateways.update': (store, me, it) => store.gateways.update(me, it.gateway, { name: 'x' }),
	'gateways.update of a version': (store, me, it) => store.gateways.update(me, it.gateway, { name: 'x' }, 1),
	'gateways.remove of a version': (store, me, it) => store.gateways.remove(me, it.gateway, false, 1),
	'gateways.remove': (store, me, it) => store.gateways.remove(me, it.gateway, false),
	'gateways.tools': (store, me, it) => store.gateways.tools(me, it.gateway, PAGE),
	'gateways.assign': (store, me, it) => store.gateways.assign(me, it.gateway, [it.tool]),
	'gateways.unassign': (store, me, it) => store.gateways.unassign(me, it.gateway, it.assignment),
	'gateways.updateAssignment': (store, me, it) => store.gateways.updateAssignment(me, it.gateway, it.assignment, { rateLimit: 1 }),
	'gateways.updateAssignment of a name': (store, me, it) => store.gateways.updateAssignment(me, it.gateway, it.tool, { name: 'x' }),
	'gateways.updateAssignment of nothing': (store, me, it) => store.gateways.updateAssignment(me, it.gateway, it.tool, {}),
	'gateways.auth': (store, me, it) => store.gateways.auth(me, it.gateway, PAGE),
	'gateways.addAuth': (store, me, it) =>
		store.gateways.addAuth(me, it.gateway, randomUUID(), { type: 'none', isRequired: true, configuration: {}, validationRules: {} }),
	'gateways.removeAuth': (store, me, it) => store.gateways.removeAuth(me, it.gateway, it.auth),
	'gateways.keys': (store, me, it) => store.gateways.keys(me, it.gateway, PAGE),
	'gateways.addKey': (store, me, it) =>
		store.gateways.addKey(me, it.gateway, { name: 'k', prefix: 'p', scopes: [], expiresAt: null, hash: Buffer.from(randomUUID()) }),
	'gateways.revokeKey': (store, me, it) => store.gateways.revokeKey(me, it.gateway, it.key),
	'gateways.keyByHash': (store, me, it) => store.gateways.keyByHash(me, it.gateway, it.hash),
	'records.get': (store, me, it) => store.records.get(me, { plugin: 'p', gatewayId: it.gateway }, 'key'),
	'records.look': (store, me, it) => store.records.look(me, { plugin: 'p', gatewayId: it.gateway }, 'key'),
	'records.find': (store, me, it) => store.records.find(me, { plugin: 'p', gatewayId: it.gateway }, 't', PAGE),
	'records.drop': (store, me, it) => store.records.drop(me, { plugin: 'p', gatewayId: it.gateway }, 't'),
	'records.count': (store, me, it) => store.records.count(me, { plugin: 'p', gatewayId: it.gateway }, 't', 10),
	'records.remove': (store, me, it) => store.records.remove(me, { plugin: 'p', gatewayId: it.gateway }, 'key'),
	'records.take': (store, me, it) => store.records.take(me, { plugin: 'p', gatewayId: it.gateway }, 'key'),
	'records.update': (store, me, it) =>
		store.records.update(me, { plugin: 'p', gatewayId: it.gateway }, { key: 'key', revision: 1, value: {} }),
	'records.put': (store, me, it) => store.records.put(me, { plugin: 'p', gatewayId: it.gateway }, 'key', {}, {}),
	'records.add': (store, me, it) => store.records.add(me, { plugin: 'p', gatewayId: it.gateway }, 'other', {}, {}),
};

const NOTHING = [null, 0, false, '[]', '{"items":[],"nextCursor":null}', '{"created":0,"updated":0,"unchanged":0}'];

async function assertNothing(id: string, answer: Promise<unknown>): Promise<void> {
	const result = await answer.catch((error: { code?: string }) =>
		error.code === 'not_found' ? null : assert.fail(`${id}: ${error.code}`),
	);
	const shown = typeof result === 'object' && result !== null ? JSON.stringify(result) : result;
	assert.ok(NOTHING.includes(shown as null), `${id} gives ${shown}`);
}

/** Returns everything that the organization can see of its own. */
async function look(store: Store, { organizationId, api, gateway, slug, execution, webhook }: Furniture): Promise<unknown> {
	const { apis, gateways, tools, records } = store;
	return Promise.all([
		apis.list(organizationId, PAGE),
		apis.credentials(organizationId, api),
		apis.operations(organizationId, api, PAGE),
		store.imports.list(organizationId, api, PAGE),
		tools.list(organizationId, PAGE),
		store.skills.list(organizationId, PAGE),
		store.llmProviders.list(organizationId, PAGE),
		store.agents.list(organizationId, PAGE),
		store.alerts.list(organizationId, PAGE),
		store.agents.questions(organizationId, PAGE),
		store.agents.executionOf(organizationId, execution),
		store.agents.webhookOf(webhook),
		gateways.snapshot(slug, '/main'),
		gateways.keys(organizationId, gateway, PAGE),
		records.get(organizationId, { plugin: 'p', gatewayId: gateway }, 'key').then((record) => ({ ...record, readAt: null })),
	]);
}

test('every verb finds nothing under another organization’s ids, and changes nothing there', async (t) => {
	const [mine, theirs] = [await furnish(store), await furnish(store)];
	const before = await look(store, theirs);
	for (const [id, verb] of Object.entries(VERBS)) {
		await t.test(id, () => assertNothing(id, verb(store, mine.organizationId, theirs)));
		assert.deepEqual(await look(store, theirs), before, id);
	}
});

/** Verbs that only read: one organization is enough for all of them. */
const READING = new RegExp(
	[
		/\.(?:get|list of an API|list|look|find|count|countOperations|credentials|schemas?|operations|usage|content|ofGateway)$/,
		/^agents\.(?:execution|executions|executionOf|summaryOf|questions?|questionOf|asking|versions?|schedule|nameOf|webhooks?)$/,
		/^gateways\.(?:tools|auth|keys|keyByHash)$/,
	]
		.map(({ source }) => source)
		.join('|'),
);

test('the same verbs find something under the organization’s own ids', async (t) => {
	const read = await furnish(store);
	const before = await look(store, read);
	t.after(async () => assert.deepEqual(await look(store, read), before, 'verbs that read change nothing'));
	for (const [id, verb] of Object.entries(VERBS)) {
		if (id.endsWith('records.put')) continue;
		await t.test(id, async () => {
			const own = READING.test(id) ? read : await furnish(store);
			const result = await verb(store, own.organizationId, { ...own });
			const shown = typeof result === 'object' && result !== null ? JSON.stringify(result) : result;
			if (id === 'apis.beginImport') await (result as Awaited<ReturnType<Store['apis']['beginImport']>>)?.abort();
			if (id !== 'tools.list of an API') assert.ok(!NOTHING.includes(shown as null), `${id} gives ${shown}`);
		});
	}
});

test('what a plugin stores is counted for its organization alone', async () => {
	const [mine, theirs] = [await furnish(store), await addTenant(store)];
	assert.equal((await store.records.usage(mine.organizationId, 'p')).records, 1);
	for (const organizationId of [theirs.organizationId, '', 'x', "' OR 1=1 --"])
		assert.deepEqual(await store.records.usage(organizationId, 'p'), { records: 0, bytes: 0 }, organizationId);
	assert.equal((await store.records.usage(mine.organizationId, 'other')).records, 0);
});

test('an assignment of another organization’s tool to the own gateway is refused', async () => {
	const [mine, theirs] = [await furnish(store), await furnish(store)];
	await assert.rejects(store.gateways.assign(mine.organizationId, mine.gateway, [theirs.tool]), { code: 'not_found' });
	await assert.rejects(store.gateways.assign(mine.organizationId, theirs.gateway, [mine.tool]), { code: 'not_found' });
});

test('an invalid id finds nothing, and neither does an invalid organization', async (t) => {
	const own = await furnish(store);
	for (const bad of ['', 'x', '%', `${own.api} `, "' OR 1=1 --", '\0', '00000000-0000-0000-0000-000000000000']) {
		const ids = {
			...own,
			api: bad,
			operationId: bad,
			tool: bad,
			skill: bad,
			llmProvider: bad,
			agent: bad,
			execution: bad,
			question: bad,
			webhook: bad,
			skillAssignment: bad,
			gateway: bad,
			job: bad,
			schemaId: bad,
			assignment: bad,
			auth: bad,
			key: bad,
			alertRule: bad,
		};
		await t.test(JSON.stringify(bad), async () => {
			for (const [id, verb] of Object.entries(VERBS)) {
				await assertNothing(id, verb(store, own.organizationId, ids));
				await assertNothing(`${id} of this organization`, verb(store, bad, own));
			}
		});
	}
});

async function walk<T>(list: (page: Page) => Promise<Listed<T>>, limit: number): Promise<T[]> {
	const all: T[] = [];
	for (let cursor: string | null | undefined; cursor !== null; ) {
		const { items, nextCursor }: Listed<T> = await list({ limit, ...(cursor && { cursor }) });
		assert.ok(items.length <= limit);
		all.push(...items);
		cursor = nextCursor;
	}
	return all;
}

test('pages list each row once in order of creation, whatever is added or removed meanwhile', async () => {
	const { organizationId } = await addTenant(store);
	const made: string[] = [];
	for (let n = 0; n < 25; n++) made.push((await addTool(store, organizationId, { name: `t${n}` })).id);
	const list = (page: Page) => store.tools.list(organizationId, page);
	for (const limit of [1, 5, 7, 24, 25, 100])
		assert.deepEqual(
			(await walk(list, limit)).map(({ id }) => id),
			made,
			`limit ${limit}`,
		);

	const first = await list({ limit: 10 });
	await store.tools.remove(organizationId, made[9] ?? '', false);
	const added = await addTool(store, organizationId);
	const rest = await walk((page) => list({ cursor: first.nextCursor ?? '', ...page }), 10);
	assert.deepEqual(
		rest.map(({ id }) => id),
		[...made.slice(10), added.id],
	);
});

test('an invented cursor is refused naming the field', async () => {
	const { organizationId } = await addTenant(store);
	for (const n of [1, 2]) await addTool(store, organizationId, { name: `t${n}` });
	for (const n of [1, 2]) await addGateway(store, organizationId, `/g${n}`);
	const foreign = (await store.gateways.list(organizationId, { limit: 1 })).nextCursor ?? assert.fail();
	const own = (await store.tools.list(organizationId, { limit: 1 })).nextCursor ?? assert.fail();
	const encoded = (text: string) => Buffer.from(text).toString('base64url');
	for (const cursor of [
		'',
		'x',
		foreign,
		`${own}=`,
		`${own}A`,
		'\0',
		encoded('tools -1'),
		encoded('tools 1e3'),
		encoded('tools 0'),
		encoded(`tools ${'9'.repeat(30)}`),
	])
		await assert.rejects(store.tools.list(organizationId, { limit: 1, cursor }), (error: { code: string; details: { path: string }[] }) => {
			assert.deepEqual([error.code, error.details[0]?.path], ['validation_failed', 'query/cursor'], cursor);
			return true;
		});
});
