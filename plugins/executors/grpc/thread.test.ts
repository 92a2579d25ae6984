// The worker for large messages is shared: each task has its own time, and accounts take turns.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import importer from '../../../importers/protobuf/index.ts';
import { failure } from '../../../test/helpers/egress.ts';
import { readWith } from '../../../test/helpers/importer.ts';
import { createCodec } from './codec.ts';
import { config } from './config.ts';
import { decodeAll } from './decoding.ts';
import { MAX_TASK_MS, type Owner } from './thread.ts';

const PROTO = `syntax = "proto3"; service S { rpc Get(M) returns (M); }
message M { repeated Empty empties = 1; }
message Empty {}`;
const [operation] = (await readWith(importer, PROTO)).operations;
if (!operation) throw new Error('The service has no method.');
const source = await config.validateAsync(importer.tool(operation).executionConfig);
const codec = createCodec(source);

/** The worker needs a good deal of a second for it. */
const LARGE = Buffer.alloc(1024 * 1024).fill(Buffer.of(10, 0));
const LESS = LARGE.subarray(0, 100_000);
const ownerOf = (account: string): Owner => ({ account: async () => account, api: null, signal: new AbortController().signal });
const decode = (account: string, bytes = LESS): Promise<string[]> => decodeAll([bytes], codec, source, ownerOf(account));

test('a task that takes too long ends alone, and those that wait go on in another thread', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const late = failure(decode('a', LARGE), 'upstream_failed');
	const others = Promise.all([decode('a'), decode('b')]);
	await turn();
	t.mock.timers.tick(MAX_TASK_MS);
	assert.match((await late).message, /too much time or memory/);
	for (const [text] of await others) assert.equal(text?.length, '{"empties":[]}'.length + 3 * 50_000 - 1);
});

test('the time of a task begins when it is its turn', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout'] });
	const [first, second] = [decode('a', LARGE), decode('a', LARGE)];
	await turn();
	t.mock.timers.tick(MAX_TASK_MS - 1);
	await first;
	t.mock.timers.tick(MAX_TASK_MS - 1);
	await second;
});

test('accounts take turns, and a call that left has none', async () => {
	const order: string[] = [];
	const leaving = new AbortController();
	const runs = ['a1', 'a2', 'a3'].map((name) => decode('a').then(() => order.push(name)));
	const left = decodeAll([LESS], codec, source, { ...ownerOf('a'), signal: leaving.signal });
	runs.push(decode('b').then(() => order.push('b1')));
	await turn();
	leaving.abort(new Error('left'));
	await assert.rejects(left, /left/);
	await Promise.all(runs);
	assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3']);
});

/** Prints the number of files in its compile cache, and has the worker start. */
const STARTS = `
	import { flushCompileCache, getCompileCacheDir } from 'node:module';
	import { readdirSync } from 'node:fs';
	import { runTask } from ${JSON.stringify(import.meta.resolve('./thread.ts'))};
	flushCompileCache();
	console.log(readdirSync(getCompileCacheDir()).length);
	const source = { descriptors: '', service: '', method: '' };
	const owner = { account: async () => 'a', api: null, signal: new AbortController().signal };
	await runTask({ type: 'details', source, messages: [] }, owner).catch(() => undefined);
	process.exit();
`;

test('the worker has the compile cache of the service', (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-compiled-'));
	t.after(() => rmSync(folder, { recursive: true }));
	const env = { ...process.env, NODE_COMPILE_CACHE: folder };
	const before = Number(execFileSync(process.execPath, ['--eval', STARTS], { env, encoding: 'utf8' }));
	const [cache = ''] = readdirSync(folder);
	assert.ok(before > 0);
	assert.ok(readdirSync(join(folder, cache)).length > before, 'modules of the worker alone are in it');
});
