// Tests that each package of a stranger whose tests take long is green by them; `suites.test.ts` has the others.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { LONG, type OutsidePackages, outsidePackages, ownTests } from '../helpers/outside.ts';

let packages: OutsidePackages;
before(async () => {
	packages = await outsidePackages();
});

for (const name of LONG)
	test(`${name} is green`, () => {
		const { status, output } = ownTests(packages, [name]);
		assert.equal(status, 0, output);
		assert.match(output, /pass [1-9]/);
	});
