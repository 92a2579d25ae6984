// Tests of the public gateway.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import none from './index.ts';

test('none admits everybody as one anonymous caller who may list and call (specification 5.2, 2)', async () => {
	assert.deepEqual(await none.authenticate(), { method: 'none', subject: 'anonymous', scopes: ['tools:read', 'tools:execute'] });
});

test('none takes no configuration', () => {
	assert.ifError(none.config.validate({}).error);
	assert.ok(none.config.validate({ keyHeader: 'X' }).error);
});
