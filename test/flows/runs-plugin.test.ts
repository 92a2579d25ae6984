// Tests runs in the whole service: a feature defines a kind, and a run of it outlives the service that began it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Runs } from '../../core/runs/runs.ts';
import { PATIENCE_MS, until } from '../helpers/clock.ts';
import { installPackages } from '../helpers/packages.ts';
import { registerAccount, startTestService, type TestService } from '../helpers/service.ts';

/** The plugin of the test leaves its runs there. */
const runsOf = ({ server }: TestService): Runs => (server.app as { runs: Runs }).runs;

test('a run that a service gives back when it stops goes on in the next one', async () => {
	using packages = installPackages('runs-plugin');
	const env = { GATEWAY_PLUGINS: packages.names.join(',') };
	const service = await startTestService({ env });
	const { organization } = await registerAccount(service.url);
	const leaving = await startTestService({ env, replicaOf: service });
	try {
		const run = await runsOf(leaving).start({ organizationId: organization.id, kind: 'probe', input: { hold: true }, here: true });
		const place = { organizationId: organization.id, id: run.id };
		await until(async () => (await runsOf(service).steps(place)).length === 1, 'the first step is done');
		await leaving.stop();
		const end = await runsOf(service).wait(place, PATIENCE_MS);
		assert.deepEqual([end.status, end.output], ['succeeded', [1, 2]]);
	} finally {
		await service.stop();
	}
});
