// Tells every case of the table of clients to every client, on one process and on two replicas that get the requests in turn, and writes the table
// into README.md. `node test/sweep/clients.ts [one|two] [part of a client's name]` installs the clients of
// others once, into `node_modules/.cache/sweep`.

import { readFileSync, writeFileSync } from 'node:fs';
import { CASES, type Case, RESTART } from '../clients/table/cases.ts';
import { type Connected, DRIVERS, type Driver } from '../clients/table/drivers.ts';
import { openWorld, type World } from '../clients/table/world.ts';
import { installClients, PROGRAMS } from './client-programs.ts';

const README = new URL('./README.md', import.meta.url);
const CASE_MS = 90_000;
const [worlds = 'both', named = ''] = process.argv.slice(2);
installClients();
const drivers = [...DRIVERS, ...PROGRAMS].filter(({ name }) => name.includes(named));

/** @returns ✓, – for what the client cannot do, or the fault */
async function outcome(one: Case, driver: Driver, client: Connected | string, world: World): Promise<string> {
	if (typeof client === 'string') return client;
	if (one.needs !== undefined && driver.lacks?.includes(one.needs)) return '–';
	const over = new AbortController();
	const late = new Promise<never>((_resolve, reject) => {
		const timer = setTimeout(() => reject(new Error(`it took more than ${CASE_MS / 1000} s`)), CASE_MS);
		over.signal.addEventListener('abort', () => clearTimeout(timer));
	});
	try {
		await Promise.race([one.run(client, world, driver), late]);
		return '✓';
	} catch (error) {
		return describe(error);
	} finally {
		over.abort();
	}
}

const describe = (error: unknown): string => `✗ ${String(error).replaceAll(/\s+/g, ' ').replaceAll('|', '/').slice(0, 160)}`;

async function runWorld(replicas: 1 | 2, row: (driver: Driver) => string[][]): Promise<void> {
	const world = await openWorld(replicas);
	const clients = new Map<Driver, Connected | string>();
	for (const driver of drivers) clients.set(driver, await driver.connect(world.target).catch(describe));
	for (const [driver, client] of clients) {
		const cells = row(driver);
		for (const [at, one] of CASES.entries()) cells[at]?.push(await outcome(one, driver, client, world));
		console.log(`${replicas} ${driver.name}: ${cells.map((cell) => cell.at(-1)).join(' ')}`);
	}
	await world.restart();
	for (const [driver, client] of clients) row(driver)[CASES.length]?.push(await outcome(RESTART, driver, client, world));
	for (const client of clients.values()) if (typeof client !== 'string') await client.close().catch(() => undefined);
	await world.close();
}

const rows = new Map(drivers.map((driver) => [driver, [...CASES, RESTART].map((): string[] => [])]));
const rowOf = (driver: Driver): string[][] => rows.get(driver) ?? [];
if (worlds !== 'two') await runWorld(1, rowOf);
if (worlds !== 'one') await runWorld(2, rowOf);

/** The same on one process and on two, as nearly always, or both. */
const cellOf = (outcomes: string[]): string => [...new Set(outcomes)].join(' ');
const head = ['client', ...CASES.map(({ name }) => name), RESTART.name];
const table = [head, head.map(() => '---'), ...drivers.map((driver) => [driver.name, ...rowOf(driver).map(cellOf)])]
	.map((cells) => `| ${cells.join(' | ')} |`)
	.join('\n');
console.log(table);
if (worlds === 'both' && named === '') {
	const text = readFileSync(README, 'utf8');
	writeFileSync(README, text.replace(/(<!-- clients -->)[\s\S]*(<!-- \/clients -->)/, `$1\n${table}\n$2`));
}
// Some of them keep their process alive.
process.exit(table.includes('✗') ? 1 : 0);
