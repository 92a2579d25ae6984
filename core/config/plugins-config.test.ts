// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a variable of the file is written so
// The file of operator configuration: YAML and JSON, variables of the environment, and faults without their values.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readPluginsConfig } from './plugins-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-plugins-config-'));
after(() => rmSync(folder, { recursive: true }));

const ENV = { PASSWORD: 'canary-1', EMPTY: '' };
const read = (text: string) => {
	const file = join(folder, 'plugins.yaml');
	writeFileSync(file, text);
	return readPluginsConfig(file, ENV);
};

for (const [format, text] of [
	['YAML', 'executor:sql:\n  url: "pg://u:${env:PASSWORD}@db"\n  pool: [1, "${env:PASSWORD}"]\n'],
	['JSON', '{\n\t"executor:sql": { "url": "pg://u:${env:PASSWORD}@db", "pool": [1, "${env:PASSWORD}"] }\n}'],
] as const) {
	test(`${format} is read by kind:name, and variables are replaced inside of texts`, async () => {
		const { entries } = await read(text);
		assert.deepEqual([...entries], [['executor:sql', { url: 'pg://u:canary-1@db', pool: [1, 'canary-1'] }]]);
	});
}

const FAULTS: [id: string, text: string, expected: RegExp][] = [
	['is not set', 'executor:sql: { a: [{ url: "canary-2 ${env:MISSING}" }] }', /executor:sql: \/a\/0\/url: .* variable MISSING is not set/],
	['is empty', 'executor:sql: { url: "${env:EMPTY}" }', /executor:sql: \/url: the environment variable EMPTY is not set/],
	['has a bad name', 'executor:sql: { url: "${env:a b}" }', /executor:sql: \/url: a variable is written \$\{env:NAME\}/],
	['is not the only fault', 'a: { x: "${env:A}", y: "${env:B}" }', /\/x: .* A is not set\.\n {2}- a: \/y: .* B is not set/],
	['is in an entry that is no object', 'executor:sql: canary-2', /executor:sql: must be an object/],
	['is in a file that is no object', '- canary-2', /must be an object whose members are named kind:name/],
	['is in a broken text', 'a: "canary-2', /line 1, column \d+: it is neither YAML nor JSON \(MISSING_CHAR\)/],
	['is named twice', 'a: { x: canary-2, x: canary-2 }', /DUPLICATE_KEY/],
	[
		'is in an alias bomb',
		`a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefgh'].map((n, i) => `${n}: &${n} [${Array(9).fill(`*${'abcdefgh'[i]}`)}]`).join('\n')}`,
		/aliases cannot be resolved/,
	],
	['would be a prototype', '{"a": {"__proto__": {"x": "canary-2"}}}', /\/a\/__proto__: is not a name/],
];
for (const [id, text, expected] of FAULTS) {
	test(`a configuration that ${id} stops the start, naming file and field, without a value`, async () => {
		await assert.rejects(read(text), (error: Error) => {
			assert.match(error.message, /plugins\.yaml is invalid:/);
			assert.match(error.message, expected);
			assert.doesNotMatch(error.message, /canary/);
			return true;
		});
	});
}

test('a file that is not there is named', async () => {
	await assert.rejects(readPluginsConfig(join(folder, 'none.yaml'), {}), /none\.yaml cannot be read: there is no such file\.$/);
});
