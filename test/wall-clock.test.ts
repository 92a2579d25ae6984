// Tests that no verdict of `npm test` depends on the wall clock (test/helpers/clock.ts lists the alternatives), by counting the reads of
// clocks. Promises about time are measured by `npm run bench`.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TESTS = [
	'{core,db,adapters,importers,plugins,demo,proxy,test}/**/*.test.ts',
	'test/{catalog,clients,conformance,contracts,flows,helpers}/**/*.ts',
];
/** The helper that reads the clock for the others. */
const CLOCK = 'test/helpers/clock.ts';

/** Reads of the clock for dates as data: when a record expires, what a token claims, where a clock that the test moves begins. */
const DATA = /new Date\(Date\.now\(\) [+-] |Math\.floor\(Date\.now\(\) \/ 1000\)|\bnow: Date\.now\(\)/g;
const READS = [
	/\bperformance\.(?:now|timeOrigin|mark|measure|eventLoopUtilization)\(/,
	/\bDate\.now\(\)/,
	/\bnew Date\(\)\.(?:getTime|valueOf)\(/,
	/\bhrtime\b|\bmonitorEventLoopDelay\b|\bconsole\.time\b|\bprocess\.uptime\(/,
	/\bPromise\.race\([^;]*\b(?:sleep|delay|setTimeout)\(/,
	/\b(?:took|waited|elapsed|duration)(?:Ms|Millis)? [<>]=? /i,
];

/** Other reads by file: their number, and the reason why no verdict depends on them. */
const ALLOWED: Record<string, [count: number, why: string]> = {
	'core/identity/key-sets.test.ts': [1, 'where a clock that the test moves begins'],
	'core/limits/windows.test.ts': [1, 'times that a replica would have written'],
	'db/changes.test.ts': [1, 'where a clock that the test moves begins'],
	'db/gateways/assignments.test.ts': [1, 'what waits for a lock has not ended after a while; it cannot end earlier on a busy machine'],
	'plugins/executors/javascript/pool.test.ts': [2, 'code of a tool that tells when it ran; a rest is never too long'],
	'test/helpers/chromium.ts': [2, 'the age of a lock that somebody left'],
	'test/helpers/memory-postgres.ts': [2, 'the age of a folder that somebody left'],
	'test/helpers/examples.ts': [1, 'dates are shown as if they were of one day'],
	'test/helpers/processes.ts': [1, 'last words of a process that has ended are waited for'],
	'test/helpers/requests.ts': [1, 'when lines of the request log began, as data'],
	'test/helpers/redis.ts': [2, 'a server that does not start is given up'],
};

const files = [...new Set(TESTS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })))].filter(
	(file) => file !== CLOCK && basename(file) !== basename(import.meta.filename),
);

/** Finds reads of a clock for more than a date. @returns the lines */
function readsIn(file: string): string[] {
	const lines = readFileSync(`${ROOT}${file}`, 'utf8').split('\n');
	return lines.filter((line) => READS.some((read) => read.test(line.replaceAll(DATA, ''))));
}

test('the scan reads the tests, and tells reads of a clock from dates as data', () => {
	assert.ok(files.length > 300, `only ${files.length} files found`);
	const isRead = (line: string): boolean => READS.some((read) => read.test(line.replaceAll(DATA, '')));
	for (const line of [
		'const started = performance.now();',
		'while (Date.now() < until)',
		'assert.ok(tookMs < 200)',
		'process.hrtime.bigint()',
	])
		assert.ok(isRead(line), line);
	for (const line of ['expiresAt: new Date(Date.now() + 60_000)', 'const exp = Math.floor(Date.now() / 1000);', 'await sleep(20);'])
		assert.ok(!isRead(line), line);
});

test('no test judges by the wall clock', () => {
	const found = files.map((file) => [file, readsIn(file)] as const).filter(([, reads]) => reads.length > 0);
	assert.deepEqual(
		found.filter(([file, reads]) => reads.length > (ALLOWED[file]?.[0] ?? 0)).map(([file, reads]) => `${file}: ${reads.join(' ').trim()}`),
		[],
	);
	const counts = new Map(found.map(([file, reads]) => [file, reads.length]));
	assert.deepEqual(
		Object.entries(ALLOWED).filter(([file, [count]]) => counts.get(file) !== count),
		[],
		'an exception is of no use any more',
	);
});
