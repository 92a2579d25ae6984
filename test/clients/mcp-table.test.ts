// The table of clients and cases, over two replicas that get the requests in turn: the clients that run in this process. `npm run sweep` runs
// it for the others as well, and on one process.

import { after, before, describe, test } from 'node:test';
import { CASES, RESTART } from './table/cases.ts';
import { type Connected, DRIVERS } from './table/drivers.ts';
import { openWorld, type World } from './table/world.ts';

let world: World;
const clients = new Map<string, Connected>();

before(async () => {
	world = await openWorld(2);
	for (const driver of DRIVERS) clients.set(driver.name, await driver.connect(world.target));
});

after(async () => {
	for (const client of clients.values()) await client.close().catch(() => undefined);
	await world?.close();
});

// `before` connected them all.
const clientOf = (name: string): Connected => clients.get(name) as Connected;

for (const driver of DRIVERS)
	describe(driver.name, () => {
		for (const { name, needs, run } of CASES)
			if (needs === undefined || !driver.lacks?.includes(needs)) test(name, () => run(clientOf(driver.name), world, driver));
	});

test('after a restart of a replica, every client goes on', async () => {
	await world.restart();
	for (const driver of DRIVERS) await RESTART.run(clientOf(driver.name), world, driver);
});
