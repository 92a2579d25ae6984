// Tests who may answer a question that names people by their addresses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayAnswer } from './approvals.ts';

const may = (named: string, email: string): boolean => mayAnswer({ emails: [named] }, { email, role: 'member' });

test('people are named by their addresses in any form of Unicode, in which A–Z alone are folded: É is not é', () => {
	assert.deepEqual(
		[may('Émile@example.com', 'Émile@EXAMPLE.com'), may('Émile@example.com'.normalize('NFD'), 'Émile@example.com')],
		[true, true],
	);
	assert.equal(may('émile@example.com', 'Émile@example.com'), false);
});
