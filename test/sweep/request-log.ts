// Compares what the request log of two replicas holds with the calls that they answered, by count and by sum, and what is lost when one of them
// is killed. `node test/sweep/request-log.ts [calls]`, about seven minutes.

import { BATCH } from '../../core/store/request-log.ts';
import { type Logged, loggedWorld, sumsDiffer } from '../helpers/logged-load.ts';
import { writeTable } from './table.ts';

const CALLS = Number(process.argv[2] ?? 200_000);
const KILLED_CALLS = Math.ceil(CALLS / 10);

const faults: string[] = [];
const rows: [what: string, value: number | string][] = [];
const equal = (what: string, found: unknown, expected: unknown): void => {
	if (JSON.stringify(found) !== JSON.stringify(expected))
		faults.push(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
};
const kept = ({ gateway, tool }: Logged): number[] => [gateway, tool];

await using world = await loggedWorld();
const startedMs = performance.now();
const calls = await world.load(CALLS);
const perSecond = Math.round(CALLS / ((performance.now() - startedMs) / 1000));
const all = await world.logged();
equal('lines of gateways and tools', kept(all), [CALLS, CALLS]);
equal('bytes', all.bytes, calls.bytes);
equal('calls by tool', all.byTool, calls.byTool);
equal('failed runs', all.failed, calls.byTool.at(-1));
equal('sums that differ from the lines', sumsDiffer(all), []);
rows.push(['calls at two replicas', CALLS], ['a second', perSecond]);
rows.push([
	'lines of gateways, lines of tools',
	kept(all)
		.map((count) => count.toLocaleString('en'))
		.join(', '),
]);
rows.push(['bytes answered, and logged', `${calls.bytes.toLocaleString('en')}, ${all.bytes.toLocaleString('en')}`]);

const more = await world.load(KILLED_CALLS, KILLED_CALLS / 2);
const rest = await world.logged();
const lost = kept(rest).map((count, at) => more.calls - (count - (kept(all)[at] ?? 0)));
if (Math.max(...lost) > BATCH) faults.push(`${lost.join(', ')} are lost, and a batch is ${BATCH}`);
equal('sums that differ from the lines, after the kill', sumsDiffer(rest), []);
rows.push([`kill -9 of one replica among ${more.calls.toLocaleString('en')} answered calls: lost of each`, lost.join(', ')]);
rows.push(['the most that may be: a batch', BATCH], ['faults', faults.length]);

writeTable('request-log', rows);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
