// Measures the hot path beside a bare proxy at full load (requests per second, CPU per request, latency), and at half load how much later a
// gateway answers. `node test/bench/gateway.ts [embedded | postgres | all]`: the database below it, embedded unless another is named.

import { type BackingName, backingsOf, openBacking, startOn } from './backing.ts';
import { halfRateOf, printHalfLoad, runHalfLoad } from './half-load.ts';
import { preparePaths } from './paths.ts';
import { type Meter, print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

/** The gateway whose rate at full load is halved. */
const YARDSTICK = 'gateway, api_key, 2025-11-25';

async function measure(name: BackingName): Promise<void> {
	await using backing = await openBacking(name);
	await using upstream = await startSubject('./upstream.ts', {});
	await using bare = await startSubject('./bare-proxy.ts', { UPSTREAM: upstream.url });
	await using service = await startOn(backing, upstream.url);
	const meter: Meter = (server) => (server === 'bare' ? bare : service).cpuMicros();
	const paths = await preparePaths({ upstream: upstream.url, bare: bare.url, service: service.url });
	const measured = await runRounds(paths, meter);
	console.log(`\nOn ${backing.title}, at full load.`);
	print(measured);
	// A gateway's calls are POSTs with a body, so the proxy's GET is not a yardstick of latency.
	const compared = paths.filter(({ method }) => method === 'POST');
	printHalfLoad(await runHalfLoad(compared, halfRateOf(measured, YARDSTICK), meter));
}

for (const name of backingsOf(process.argv[2])) await measure(name);
