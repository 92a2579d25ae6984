// Tests that each package of a stranger is green by its own tests, in its own folder, against the packed Gatehouse alone.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { LONG, type OutsidePackages, outsidePackages, ownTests, packageNames } from '../helpers/outside.ts';

let packages: OutsidePackages;
before(async () => {
	packages = await outsidePackages();
});

test('the packages import the published package, what they depend on, and their own files', () => {
	for (const name of packageNames()) {
		const folder = `${import.meta.dirname}/${name}`;
		const { dependencies } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { dependencies: Record<string, string> };
		const allowed = [/^gatehouse(?:\/features|\/testing)?$/, /^node:/, /^\.\/[\w-]+\.ts$/];
		for (const file of readdirSync(folder, { recursive: true }).map(String)) {
			if (!file.endsWith('.ts')) continue;
			const imported = [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/from '([^']+)'/g)].map(([, from = '']) => from);
			const others = imported.filter(
				(from) => !allowed.some((one) => one.test(from)) && !Object.hasOwn(dependencies, from) && from !== name,
			);
			// A feature has hapi's types from Gatehouse.
			assert.deepEqual(
				others.filter((from) => from !== '@hapi/hapi'),
				[],
				`${name}/${file}`,
			);
		}
	}
});

test('each package whose tests are short is green', () => {
	const names = packageNames().filter((one) => !LONG.includes(one));
	const { status, output } = ownTests(packages, names);
	assert.equal(status, 0, output);
	for (const name of names) assert.match(output, new RegExp(`^ok \\d+ - ${name.replaceAll('-', '_')} keeps the `, 'm'));
});
