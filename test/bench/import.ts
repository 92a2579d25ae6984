// Imports GitHub's OpenAPI document (13 MB, 1,223 operations), its GraphQL schema (5 MB, 272), Microsoft Graph's OpenAPI document (20 MB,
// 11,422), a WSDL (4 MB, 954) and every .proto that Google publishes (13,386 rpcs) into a real store and makes tools of them. Without
// arguments it imports all of them, else the named ones: `node test/bench/import.ts large-wsdl`.

import { resolve } from 'node:path';
import { type Measured, openImporting, runRound } from './import-rounds.ts';
import { subjectsNamed } from './import-subjects.ts';

const ROUNDS = 3;
/** Other requests must not wait longer than this during an import. */
const MAX_BLOCK_MS = 100;
const MB = 1024 * 1024;

const importing = await openImporting(resolve(import.meta.dirname, '../..'));
await using _store = importing.store;
const measured: Measured[] = [];
for (const subject of subjectsNamed(process.argv.slice(2))) {
	const { name, operations } = subject;
	const body = subject.body();
	console.log(`${name}: ${(body.length / MB).toFixed(1)} MB, ${operations} operations, ${ROUNDS} rounds on one process, worker included`);
	for (let round = 0; round < ROUNDS; round++) {
		for await (const figures of runRound(importing, round, subject, body)) {
			measured.push(figures);
			const { step, durationMs, cpuMs, longestBlockMs, longestCpuMs } = figures;
			const [duration, whole, block, cpu] = [durationMs.toFixed(0), cpuMs.toFixed(0), longestBlockMs.toFixed(1), longestCpuMs.toFixed(1)];
			const times = `${step.padEnd(12)} ${duration.padStart(6)} ms   CPU ${whole.padStart(6)} ms`;
			console.log(`${times}   longest block ${block.padStart(6)} ms, of it CPU ${cpu.padStart(5)} ms`);
		}
	}
}
console.log(`peak memory (RSS) ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`);
if (measured.some(({ longestCpuMs }) => longestCpuMs > MAX_BLOCK_MS)) {
	console.error(`The event loop was blocked for more than ${MAX_BLOCK_MS} ms.`);
	process.exitCode = 1;
}
