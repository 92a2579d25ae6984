// Tests of results on their way to the client: checked against a promised schema, cut to a budget, kept for their caller, and run only when
// the user confirms it.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Joi from 'joi';
import { startCore, type TestCore } from '../../test/helpers/core.ts';
import { failure } from '../../test/helpers/egress.ts';
import { administer } from '../../test/helpers/postgres.ts';
import { addApi, addGateway, addTenant, addTool } from '../../test/helpers/samples.ts';
import type { Asker, Question } from '../contract/asking.ts';
import type { Caller, ContentBlock, Gateway, JsonSchema, ToolResult } from '../contract/nouns.ts';
import type { KeptResult } from '../contract/results.ts';
import type { NewTool } from '../store/store.ts';
import { PluginCall } from './call.ts';
import type { CallParts } from './call-parts.ts';
import type { EntryAround } from './entry.ts';
import { NO_IDENTITY } from './no-identity.ts';

let core: TestCore;
let organizationId: string;
let gateway: Gateway;
/** The result of the executor, which counts its runs. */
let result: ToolResult;
let ran: number;

before(async () => {
	core = await startCore({
		plugins: [
			{
				...{ kind: 'executor', name: 'odd', summary: 'Answers what the test says.', config: Joi.object({}) },
				async execute() {
					ran += 1;
					return result;
				},
			},
		],
	});
	const tenant = await addTenant(core.store);
	({ organizationId } = tenant);
	const row = await addGateway(core.store, organizationId);
	gateway = { ...row, organizationSlug: tenant.slug, organizationName: tenant.slug, url: 'https://gatehouse.example/acme/main' };
});
after(() => core[Symbol.asyncDispose]());
beforeEach(() => {
	ran = 0;
	core.runs.length = 0;
});

const callerOf = (subject: string): Caller => ({ method: 'x', subject, scopes: ['tools:read', 'tools:execute'] });

/** A call of the only tool of a gateway. */
async function callOf(
	around: Partial<EntryAround> & { tool?: Partial<NewTool>; subject?: string; at?: Gateway; parts?: Partial<CallParts> } = {},
): Promise<PluginCall> {
	const { tool, subject = 'user:1', at = gateway, parts, ...its } = around;
	const row = await addTool(core.store, organizationId, { executor: 'odd', parameters: { type: 'object' }, executionConfig: {}, ...tool });
	const entry = core.services.invoker.prepare(row, { api: null, credentials: [], ...its });
	return new PluginCall(core.services, {
		...{
			plugin: 'transport:x',
			organizationId,
			gateway: at,
			caller: callerOf(subject),
			identity: NO_IDENTITY,
			entry: null,
			listener: null,
		},
		...{
			shelf: { list: () => [entry.tool], find: () => entry, skills: () => [] },
			countTool: async () => undefined,
			signal: new AbortController().signal,
		},
		...parts,
	});
}

const NAME = { name: 'getPet' };
const text = (said: string): ContentBlock => ({ type: 'text', text: said });
const textsOf = ({ content }: ToolResult): string[] => content.flatMap((block) => (block.type === 'text' ? [block.text] : []));

describe('strictOutput', () => {
	const outputSchema: JsonSchema = {
		type: 'object',
		properties: { id: { type: 'integer' }, owner: { type: 'object', required: ['name'] } },
		required: ['id'],
		additionalProperties: false,
	};
	const answered = async (given: ToolResult, { strictOutput = true, schema = outputSchema } = {}): Promise<ToolResult> => {
		result = given;
		const api = await addApi(core.store, organizationId, { strictOutput });
		return (await callOf({ api, tool: { outputSchema: schema } })).invoke(NAME, {});
	};

	test('lets pass what fits, and a failure, which promises nothing', async () => {
		const fitting = { content: [text('{"id":1}')], structured: { id: 1 } };
		assert.deepEqual(await answered(fitting), fitting);
		const failed = { content: [text('HTTP 500')], isError: true };
		assert.deepEqual(await answered(failed), failed);
	});

	test('makes a result that breaks the schema a failed run, which names the fields', async () => {
		const structured = { id: 'x', owner: {}, more: 1 };
		const broken = await answered({ content: [text('…')], structured });
		await nextTurn();
		assert.deepEqual([broken.isError, broken.structured, core.runs.at(-1)?.outcome], [true, undefined, 'upstream_failed']);
		const [said = ''] = textsOf(broken);
		for (const line of ['/id must be integer, got string "x".', '/owner/name is missing.', '/more is not in the schema.'])
			assert.ok(said.split('\n').includes(line), said);
		assert.match(textsOf(await answered({ content: [text('Hi')] }))[0] ?? '', /\/ has no data/);
	});

	test('is off by default: what upstreams send is passed on', async () => {
		assert.deepEqual((await answered({ content: [], structured: { id: 'x' } }, { strictOutput: false })).structured, { id: 'x' });
	});

	test('checks what takes long in a thread, and fails the run where a schema cannot be used', async () => {
		const many = { type: 'array', uniqueItems: true, items: { type: 'integer' } };
		const items = Array.from({ length: 3000 }, (_, at) => at);
		assert.equal((await answered({ content: [], structured: items }, { schema: many })).isError, undefined);
		assert.match(textsOf(await answered({ content: [], structured: [...items, 1] }, { schema: many }))[0] ?? '', /duplicate items/);
		const odd = await answered({ content: [], structured: 1 }, { schema: { type: 'nothing' } });
		assert.match(textsOf(odd)[0] ?? '', /^The result cannot be checked against its output schema/);
	});
});

describe('maxResultBytes', () => {
	let kept: KeptResult[] = [];
	beforeEach(() => {
		kept = [];
	});
	const link = (one: KeptResult): { how: string; link: ContentBlock } => {
		kept.push(one);
		return { how: `See ${one.id}.`, link: { type: 'resource_link', uri: `x:${one.id}`, name: 'whole' } };
	};
	const rows = Array.from({ length: 5000 }, (_, id) => ({ id, name: 'ä'.repeat(40) }));

	test('cuts data to data of its shape, with a label that says how many bytes of how many', async () => {
		const json = JSON.stringify({ rows });
		result = { content: [text(json)], structured: { rows } };
		const cut = await (await callOf({ maxResultBytes: 2000 })).invoke(NAME, {});
		const [begun = '', label = ''] = textsOf(cut);
		assert.deepEqual(JSON.parse(begun), cut.structured);
		assert.equal(cut.cut, label);
		assert.ok(Buffer.byteLength(begun) <= 2000 && Buffer.byteLength(begun) > 1000, `${Buffer.byteLength(begun)}`);
		const [is, of] = [Buffer.byteLength(begun), Buffer.byteLength(json)].map((bytes) => new Intl.NumberFormat('en').format(bytes));
		assert.match(
			label,
			new RegExp(`^\\[Cut: the first ${is} of ${of} bytes\\. Ask for less\\.\\]\n.*/rows: the first \\d+ of 5,000 items`),
		);
		await nextTurn();
		assert.deepEqual([cut.isError, core.runs.at(-1)?.outcome], [undefined, 'success']);
	});

	test('cuts the texts of data to what is allowed, and little less', async () => {
		for (const data of [{ title: 'x', body: 'x'.repeat(50_000) }, 'x'.repeat(50_000), { a: 'ü'.repeat(9_000), b: 'x'.repeat(9_000) }]) {
			result = { content: [text(JSON.stringify(data))], structured: data };
			const [begun = ''] = textsOf(await (await callOf({ maxResultBytes: 3000 })).invoke(NAME, {}));
			assert.ok(Buffer.byteLength(begun) <= 3000 && Buffer.byteLength(begun) > 2900, `${Buffer.byteLength(begun)}`);
		}
	});

	test('cuts texts between characters, and leaves images out that do not fit', async () => {
		const image: ContentBlock = { type: 'image', data: 'A'.repeat(400), mimeType: 'image/png' };
		result = { content: [image, text('ä'.repeat(300))] };
		const { content } = await (await callOf({ maxResultBytes: 301 })).invoke(NAME, {});
		assert.deepEqual(content[0], text('ä'.repeat(150)));
		assert.match(textsOf({ content })[1] ?? '', /the first 300 of 1,000 bytes/);
		result = { content: [image] };
		assert.deepEqual((await (await callOf({ maxResultBytes: 400 })).invoke(NAME, {})).content, [image]);
	});

	test('leaves no data that breaks a promised schema: the call counts as failed', async () => {
		const schema = { type: 'object', properties: { rows: { type: 'array', minItems: 5000 } }, required: ['rows'] };
		result = { content: [], structured: { rows } };
		const api = await addApi(core.store, organizationId, { strictOutput: true });
		const cut = await (await callOf({ api, tool: { outputSchema: schema }, maxResultBytes: 2000 })).invoke(NAME, {});
		assert.deepEqual([cut.isError, cut.structured], [true, undefined]);
		assert.match(textsOf(cut).at(-1) ?? '', /output schema/);
	});

	test('the whole is kept, page by page and sealed, for that caller at that gateway alone', async () => {
		result = { content: [text('')], structured: { rows } };
		const call = await callOf({ maxResultBytes: 2000 });
		const cut = await call.with({ keep: link }).invoke(NAME, {});
		const [{ id = '', pages = 0, bytes = 0 } = {}] = kept;
		assert.match(textsOf(cut)[1] ?? '', new RegExp(`See ${id}\\.`));
		assert.deepEqual(cut.content.at(-1), { type: 'resource_link', uri: `x:${id}`, name: 'whole' });
		const read = await Promise.all(Array.from({ length: pages }, (_, at) => call.kept(id, at + 1)));
		const whole = read.map((page) => (page && 'text' in page ? page.text : assert.fail('a page is missing'))).join('');
		assert.ok(pages > 1 && read.every((page) => page?.mimeType === 'application/json' && page.pages === pages));
		assert.deepEqual([JSON.parse(whole), Buffer.byteLength(whole)], [{ rows }, bytes]);
		for (const page of [0, pages + 1, 1.5, Number.NaN]) assert.equal(await call.kept(id, page), null);
		assert.equal(await (await callOf({ subject: 'user:2' })).kept(id, 1), null);
		assert.equal(await (await callOf({ at: { ...gateway, id: randomUUID() } })).kept(id, 1), null);
		assert.equal(await call.kept('x'.repeat(24), 1), null);
		const stored = await administer(
			core.store.database,
			`SELECT value::text, extract(epoch FROM expires_at - created_at)::int AS kept FROM records WHERE key = '${id}:1'`,
		);
		assert.equal(String(stored[0]?.['value']).includes('rows'), false);
		// The service reads its clock before it waits for the database, which reads its own.
		assert.ok(Math.abs(Number(stored[0]?.['kept']) - 600) < 30, `${stored[0]?.['kept']} s`);
	});

	test('bytes are kept as bytes, and texts without data as text', async () => {
		const data = Buffer.from('x'.repeat(900)).toString('base64');
		result = { content: [text('a'.repeat(300)), { type: 'image', data, mimeType: 'image/png' }] };
		const call = await callOf({ maxResultBytes: 256 });
		await call.with({ keep: link }).invoke(NAME, {});
		const [{ id = '' } = {}] = kept;
		assert.deepEqual(await call.kept(id, 1), { page: 1, pages: 2, mimeType: 'text/plain', text: 'a'.repeat(300) });
		assert.deepEqual(await call.kept(id, 2), { page: 2, pages: 2, mimeType: 'image/png', blob: data });
	});

	test('a caller’s oldest results make room for new ones; an organization that keeps too many keeps no more', async () => {
		const { organizationId: own } = await addTenant(core.store);
		const at = { ...gateway, id: randomUUID(), organizationId: own };
		const full = (tags: string, count: number): Promise<unknown> =>
			administer(
				core.store.database,
				`INSERT INTO records (organization_id, plugin, key, value, tags, expires_at)
				SELECT '${own}', 'core:results', gen_random_uuid(), '{}', ARRAY['page', ${tags}], now() + interval '1 minute'
				FROM generate_series(1, ${count})`,
			);
		result = { content: [text('a'.repeat(300))] };
		const call = await callOf({ maxResultBytes: 256, at, parts: { organizationId: own } });
		await full(`'by:${at.id}:user:1', 'of:old'`, 256);
		await call.with({ keep: link }).invoke(NAME, {});
		const [left] = await administer(core.store.database, `SELECT count(*)::int AS n FROM records WHERE organization_id = '${own}'`);
		assert.deepEqual([kept.length, left?.['n']], [1, 1]);
		await full(`'by:other', 'of:new'`, 1023);
		const { content } = await call.with({ keep: link }).invoke(NAME, {});
		assert.deepEqual([kept.length, content.length], [1, 2]);
		assert.match(textsOf({ content })[1] ?? '', /Ask for less/);
	});

	test('a caller who may no longer run tools reads nothing', async () => {
		const reader = await callOf({ parts: { caller: { ...callerOf('user:1'), scopes: ['tools:read'] } } });
		await failure(reader.kept('x'.repeat(24), 1), 'insufficient_scope');
	});
});

describe('confirm', () => {
	let questions: Question[] = [];
	beforeEach(() => {
		questions = [];
		result = { content: [text('done')] };
	});
	const saying =
		(answer: Awaited<ReturnType<Asker>>): Asker =>
		async (question) => {
			questions.push(question);
			return answer;
		};
	const YES = { action: 'accept', content: { run: true } } as const;

	test('a tool runs when the user confirms exactly this call', async () => {
		const call = (await callOf({ confirm: 'always' })).with({ ask: saying(YES) });
		assert.deepEqual(textsOf(await call.invoke(NAME, { id: 'a' })), ['done']);
		assert.equal(ran, 1);
		assert.match(questions[0]?.message ?? '', /“getPet” with these arguments\?\n\{\n "id": "a"\n\}/);
		await call.invoke(NAME, { id: 'b' });
		await call.invoke(NAME, { id: 'a' });
		assert.equal(new Set(questions.map(({ key }) => key)).size, 3, 'each call is a question of its own, the same one too');
	});

	test('anything but a yes is a failed run of a tool that did not run', async () => {
		const no = { action: 'accept', content: { run: false } } as const;
		const odd = { action: 'accept', content: { run: 'yes' } } as const;
		for (const answer of [no, odd, { action: 'decline' } as const, { action: 'cancel' } as const]) {
			const declined = await (await callOf({ confirm: 'always' })).with({ ask: saying(answer) }).invoke(NAME, {});
			await nextTurn();
			assert.deepEqual([declined.isError, core.runs.at(-1)?.outcome, ran], [true, 'forbidden', 0]);
		}
	});

	test('a client that cannot ask is told so, and the tool does not run', async () => {
		const { details, message } = await failure((await callOf({ confirm: 'always' })).invoke(NAME, {}), 'not_implemented');
		assert.deepEqual([details[0]?.path, ran, core.runs.length], ['client/elicitation', 0, 0]);
		assert.match(message, /only when the user confirms it.*did not run/);
	});

	test('a run that waits for the client to come again does not begin', async () => {
		await failure((await callOf({ confirm: 'always' })).with({ ask: saying('later') }).invoke(NAME, {}), 'not_implemented');
		assert.deepEqual([ran, core.runs.length], [0, 0]);
	});

	test('destructive asks for tools whose hints do not exclude that they destroy something', async () => {
		const asks = async (annotations: NewTool['annotations']): Promise<boolean> => {
			questions = [];
			await (await callOf({ confirm: 'destructive', tool: { annotations } })).with({ ask: saying(YES) }).invoke(NAME, {});
			return questions.length > 0;
		};
		for (const annotations of [{}, { destructiveHint: true }, { readOnlyHint: false }]) assert.equal(await asks(annotations), true);
		for (const annotations of [{ destructiveHint: false }, { readOnlyHint: true }]) assert.equal(await asks(annotations), false);
	});

	test('wrong arguments are refused before anybody is asked', async () => {
		const parameters = { type: 'object', required: ['id'] };
		const call = (await callOf({ confirm: 'always', tool: { parameters } })).with({ ask: saying(YES) });
		await failure(call.invoke(NAME, {}), 'validation_failed');
		assert.deepEqual(questions, []);
	});
});
