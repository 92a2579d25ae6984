import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** Prints which of two things are loaded that few need, and that take long: each thread of imports would wait for them. */
const PRINT = `
import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
await import(process.argv[1]);
const client = process.moduleLoadList.filter((name) => name.includes('deps/undici/undici'));
console.log(JSON.stringify([...client, ...urls.filter((url) => url.includes('node_modules/jose/'))]));`;

for (const entry of ['index.ts', 'server.ts', 'gateways/runtime.ts'])
	test(`core/${entry} loads neither Node's WebSocket client nor jose`, () => {
		const url = new URL(entry, import.meta.url).href;
		const printed = execFileSync(process.execPath, ['--input-type=module', '-e', PRINT, url], { encoding: 'utf8' });
		assert.deepEqual(JSON.parse(printed), []);
	});
