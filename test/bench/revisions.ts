// Measures a gateway's call of two revisions of the project and of the bare proxy alternately, so that the cost of a change shows on a noisy
// machine too. `node test/bench/revisions.ts <folder of the older revision> [folder of the newer] [embedded | postgres | all]`: checkouts with their
// packages installed; the newer is this one unless another is named.

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BackingName, backingsOf, openBacking, startOn } from './backing.ts';
import { bareCallOf, prepareCall } from './paths.ts';
import { print, runRounds } from './rounds.ts';
import { type Subject, startSubject } from './subject.ts';

/** The number of rounds: enough that noise moves the median by less than three per cent. */
const ROUNDS = 8;
const HERE = resolve(import.meta.dirname, '../..');

async function measure(backing: BackingName, revisions: Record<string, string>): Promise<void> {
	await using started = new AsyncDisposableStack();
	const upstream = started.use(await startSubject('./upstream.ts', {}));
	const bare = started.use(await startSubject('./bare-proxy.ts', { UPSTREAM: upstream.url }));
	const subjects: Record<string, Subject> = { bare };
	const paths = [bareCallOf('bare hapi proxy', bare.url)];
	for (const [name, folder] of Object.entries(revisions)) {
		const below = started.use(await openBacking(backing));
		// Its own benchmarks start it by the same file.
		const service = started.use(await startOn(below, upstream.url, pathToFileURL(`${folder}/test/bench/service.ts`).href));
		subjects[name] = service;
		paths.push({ ...(await prepareCall(name, { upstream: upstream.url, service: service.url })), name: `${name}: ${folder}` });
	}
	const measured = await runRounds(paths, async (server) => (await subjects[server]?.cpuMicros()) ?? Number.NaN, { rounds: ROUNDS });
	console.log(`\nOn ${backing}.`);
	print(measured);
	print(measured.slice(1));
}

const [older, newer = HERE, backings] = process.argv.slice(2);
if (older === undefined)
	throw new Error('Usage: node test/bench/revisions.ts <older revision> [newer revision] [embedded | postgres | all]');
for (const backing of backingsOf(backings)) await measure(backing, { before: resolve(older), after: resolve(newer) });
