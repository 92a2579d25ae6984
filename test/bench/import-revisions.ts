// Measures the CPU of imports of two revisions of the project alternately, so that the cost of a change shows on a noisy machine too. `node
// test/bench/import-revisions.ts <folder of the older revision> [names of documents]`: a checkout with its packages installed.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { type Measured, openImporting, runRound } from './import-rounds.ts';
import { subjectsNamed } from './import-subjects.ts';
import { median } from './rounds.ts';

const ROUNDS = 5;
const HERE = resolve(import.meta.dirname, '../..');

/** Runs the rounds that it is told, and answers the figures of each. */
async function runSubject(folder: string): Promise<void> {
	const importing = await openImporting(folder);
	const bodies = new Map<string, Buffer>();
	process.on('message', async ({ name, round }: { name: string; round: number }) => {
		const [subject] = subjectsNamed([name]);
		if (!subject) {
			await importing.store.close();
			return process.disconnect();
		}
		const body = bodies.get(name) ?? subject.body();
		bodies.set(name, body);
		const figures: Measured[] = [];
		for await (const one of runRound(importing, round, subject, body)) figures.push(one);
		process.send?.(figures);
	});
	process.send?.('ready');
}

async function tell(child: ChildProcess, name: string, round: number): Promise<Measured[]> {
	child.send({ name, round });
	const [figures] = await once(child, 'message');
	return figures as Measured[];
}

interface Revision {
	child: ChildProcess;
	/** The figures of each round. */
	rounds: Measured[][];
}

/** Prints the CPU of each step, and of all: the medians, and the median of the ratios of the rounds. */
function print(name: string, [before, after]: [Measured[][], Measured[][]]): void {
	const steps = before[0]?.map(({ step }) => step) ?? [];
	for (const step of [...steps, 'all']) {
		const cpuOf = (round: Measured[]): number =>
			round.reduce((sum, { step: one, cpuMs }) => (step === 'all' || one === step ? sum + cpuMs / 1000 : sum), 0);
		const [was, is] = [before.map(cpuOf), after.map(cpuOf)];
		const ratio = median(is.map((cpu, round) => cpu / (was[round] ?? Number.NaN)));
		console.log(`| ${name}, ${step} | ${median(was).toFixed(2)} | ${median(is).toFixed(2)} | ${ratio.toFixed(2)} |`);
	}
}

async function main(older: string, names: string[]): Promise<void> {
	const revisions = [resolve(older), HERE].map(
		(folder): Revision => ({ child: fork(new URL(import.meta.url), ['subject', folder]), rounds: [] }),
	);
	await Promise.all(revisions.map(({ child }) => once(child, 'message')));
	console.log('| CPU s, median | before | after | ratio |\n|---|---|---|---|');
	for (const { name } of subjectsNamed(names)) {
		for (let round = 0; round < ROUNDS; round++)
			// The order alternates, so that noise affects both alike.
			for (const { child, rounds } of round % 2 === 0 ? revisions : revisions.toReversed()) rounds.push(await tell(child, name, round));
		const [before, after] = revisions.map(({ rounds }) => rounds.splice(0));
		if (before && after) print(name, [before, after]);
	}
	for (const { child } of revisions) child.send({ name: 'end', round: 0 });
	await Promise.all(revisions.map(({ child }) => once(child, 'exit')));
}

const [, , first, ...rest] = process.argv;
if (first === undefined) throw new Error('Usage: node test/bench/import-revisions.ts <folder of the older revision> [names of documents]');
await (first === 'subject' ? runSubject(rest[0] ?? HERE) : main(first, rest));
