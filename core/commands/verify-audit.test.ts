// Tests of the arguments and lines of `verify-audit`. The chains are tested in db/audit-chain.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedProof, describeProof } from './verify-audit.ts';

const ID = '00000000-0000-4000-8000-000000000001';
const HASH = 'ab'.repeat(32);

test('it takes an organization, and a link that was noted down', () => {
	assert.deepEqual(askedProof([]), {});
	assert.deepEqual(askedProof([ID]), { organizationId: ID });
	assert.deepEqual(askedProof(['--expect', `7:${HASH}`, ID]), { organizationId: ID, expected: { position: 7, hash: HASH } });
	for (const args of [['acme'], [ID, ID], ['--expect', `7:${HASH}`], ['--expect', '7', ID], ['--expect', `0:${HASH}`, ID], ['--other']])
		assert.throws(() => askedProof(args), { message: /^Usage: verify-audit/ }, args.join(' '));
});

test('it says in a line how a chain is', () => {
	const proof = { organizationId: ID, slug: 'acme', links: 2, head: { position: 2, hash: HASH }, unchained: 0, broken: null };
	assert.equal(describeProof(proof), `ok      acme (${ID}): 2 links, the last 2:${HASH}`);
	assert.equal(describeProof({ ...proof, unchained: 3 }), `ok      acme (${ID}): 2 links, the last 2:${HASH}, 3 entries not linked yet`);
	assert.equal(describeProof({ ...proof, links: 0, head: null }), `ok      acme (${ID}): no links`);
	assert.equal(
		describeProof({ ...proof, broken: 'link 3: it is gone' }),
		`BROKEN  acme (${ID}): link 3: it is gone; 2 links before it are right`,
	);
});
