// Tests that the duration of a password reset reveals nothing: the response waits for the same timer in every case and for nothing else.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { elapsing } from '../../test/helpers/clock.ts';
import { addTenant } from '../../test/helpers/samples.ts';
import { silent } from '../../test/helpers/silent.ts';
import { testStore } from '../../test/helpers/store.ts';
import { loadConfig } from '../config/config.ts';
import { createMail } from '../mail/mail.ts';
import type { Store } from '../store/store.ts';
import { createResets } from './password-resets.ts';

test('the answer waits for a timer only: it is given while the look-up is held, whether there is such an account or not', async (t) => {
	await using real = await testStore();
	const { userId } = await addTenant(real);
	const known = (await real.accounts.byId(userId))?.email ?? assert.fail();
	const folder = mkdtempSync(join(tmpdir(), 'gatehouse-resets-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const held = Promise.withResolvers<void>();
	const asked: string[] = [];
	const accounts: Store['accounts'] = {
		...real.accounts,
		byEmail: async (email) => {
			asked.push(email);
			await held.promise;
			return real.accounts.byEmail(email);
		},
	};
	const config = loadConfig({ SVC_DATA_DIR: folder });
	const mail = createMail(config, silent);
	const resets = createResets({ config, store: { ...real, accounts }, mail, log: silent });
	const emails = [known, 'nobody@example.com'];
	for (const email of emails) {
		const isTime = elapsing(100);
		await resets.ask(email);
		assert.ok(isTime(), email);
	}
	assert.deepEqual(asked, emails, 'each is looked up once');
	held.resolve();
	await resets.close();
	await mail.close();
});
