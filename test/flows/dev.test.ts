// Tests `gatehouse dev` and `gatehouse check` as processes: a folder of plugins is served, again after each change.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../helpers/ports.ts';
import { start, until } from '../helpers/processes.ts';
import { send } from '../helpers/service.ts';

const room = mkdtempSync(join(tmpdir(), 'gatehouse-dev-'));
const folder = join(room, 'plugin');
const entry = join(folder, 'index.js');
cpSync(fileURLToPath(new URL('../fixtures/outside-plugin', import.meta.url)), folder, { recursive: true });
after(() => rmSync(room, { recursive: true, force: true }));

test('a change restarts the service with it, a broken plugin is told and mended, and Ctrl-C ends all', async () => {
	const source = readFileSync(entry, 'utf8');
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	await using dev = start({ PORT: String(port), SVC_DATA_DIR: join(room, 'data'), LOG_LEVEL: 'warn' }, ['dev', folder]);
	const told = (sentence: string): number => dev.output().split(sentence).length - 1;
	const listening = (times: number): Promise<void> => until(() => told(`Listening at ${url}`) === times, `it listens ${times} times`, dev);
	const summary = async (): Promise<boolean> =>
		JSON.stringify((await send(`${url}/openapi.json`, 'GET')).body).includes('Answers its text aloud.');

	await listening(1);
	assert.equal(await summary(), false);
	writeFileSync(entry, 'throw new Error("half written");');
	await until(() => told('The service ended.') === 1, 'it waits', dev);
	assert.match(dev.output(), /did not load: half written \(in .*index\.js:1:7\)\./);
	writeFileSync(entry, source.replace('Answers its text in capitals.', 'Answers its text aloud.'));
	await listening(2);
	assert.equal(await summary(), true);

	dev.signalGroup('SIGINT');
	assert.equal(await dev.ended, 0);
	await assert.rejects(send(`${url}/health`, 'GET'));
});

test('a folder that is no package ends the command at once, and so does a wrong use', async () => {
	await using missing = start({}, ['dev', join(room, 'nothing')]);
	assert.equal(await missing.ended, 1);
	assert.equal(missing.output(), `${join(room, 'nothing')}: there is no such folder.\n`);
	await using wrong = start({}, ['dev']);
	assert.equal(await wrong.ended, 1);
	assert.equal(wrong.output(), 'Usage: gatehouse dev <folder>\n');
});

test('check needs no configuration, tells faults on standard error, and ends with 0 or 1', async () => {
	await using good = start({ PORT: 'wrong' }, ['check', folder]);
	assert.equal(await good.ended, 0, good.output());
	assert.match(good.output(), /^gatehouse-outside-plugin 1\.0\.0 in /);
	await using unknown = start({}, ['check', 'acme-unknown']);
	assert.equal(await unknown.ended, 1);
	assert.match(unknown.output(), /^acme-unknown: the package is not installed in /);
});
