// Tests of the credentials file: where it is, who may read it, and what a broken one does.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { configFolder, credentialsPath, readCredentials, writeCredentials } from './file.ts';

const HOME = mkdtempSync(join(tmpdir(), 'gatehouse-credentials-'));
after(() => rmSync(HOME, { recursive: true, force: true }));
const env = (name: string) => ({ HOME: join(HOME, name), XDG_CONFIG_HOME: join(HOME, name) });

const LOGIN = { token: 'ak_live_x', keyId: 'k', createdAt: '2026-01-01T00:00:00.000Z' };

test('each platform has its folder', () => {
	assert.equal(configFolder({ HOME: '/home/a' }, 'linux'), '/home/a/.config/gatehouse');
	assert.equal(configFolder({ HOME: '/home/a', XDG_CONFIG_HOME: '/c' }, 'linux'), '/c/gatehouse');
	assert.equal(configFolder({ HOME: '/Users/a' }, 'darwin'), '/Users/a/Library/Application Support/gatehouse');
	assert.match(configFolder({ APPDATA: 'C:\\Roaming' }, 'win32'), /Roaming.gatehouse$/);
});

test('only its owner can read the file, also where it was open before, and nothing else is left', () => {
	const its = env('owner');
	assert.deepEqual(readCredentials(its), { last: null, services: {} });
	const stored = { last: 'http://a', services: { 'http://a': LOGIN } };
	writeCredentials({ last: null, services: {} }, its);
	chmodSync(credentialsPath(its), 0o644);
	writeCredentials(stored, its);
	assert.deepEqual(readCredentials(its), stored);
	assert.equal(statSync(credentialsPath(its)).mode & 0o777, 0o600);
	assert.equal(statSync(dirname(credentialsPath(its))).mode & 0o777, 0o700);
	assert.deepEqual(readdirSync(dirname(credentialsPath(its))), ['credentials.json']);
});

for (const text of ['', '{', '[]', '{"services":[]}', 'null']) {
	test(`a file with ${JSON.stringify(text)} is told by its path, and not overwritten`, () => {
		const its = env('broken');
		mkdirSync(dirname(credentialsPath(its)), { recursive: true });
		writeFileSync(credentialsPath(its), text);
		assert.throws(() => readCredentials(its), /credentials\.json is broken: remove it, and log in again/);
		assert.equal(readFileSync(credentialsPath(its), 'utf8'), text);
	});
}

test('a login without a token is none', () => {
	const its = env('odd');
	mkdirSync(dirname(credentialsPath(its)), { recursive: true });
	writeFileSync(credentialsPath(its), JSON.stringify({ last: 7, services: { a: {}, b: LOGIN, c: null } }));
	assert.deepEqual(readCredentials(its), { last: null, services: { b: LOGIN } });
});
