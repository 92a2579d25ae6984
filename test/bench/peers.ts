// Measures a tool call through a gateway beside the same call of other MCP servers from npm, each in a process of its own, in one run.
// `node test/bench/peers.ts`; the first run installs them.

import { findPort } from '../../demo/ports.ts';
import { openBacking, startOn } from './backing.ts';
import { prepareCall, withFreshIds } from './paths.ts';
import { installPeers, missingIn, PEERS, pathOf, startPeer } from './peer-servers.ts';
import { print, runRounds } from './rounds.ts';
import { startSubject } from './subject.ts';

const OURS = 'gatehouse';

async function main(): Promise<void> {
	const folder = installPeers();
	await using backing = await openBacking('embedded');
	await using started = new AsyncDisposableStack();
	const upstream = started.use(await startSubject('./upstream.ts', {}));
	const service = started.use(await startOn(backing, upstream.url));
	const subjects = new Map([[OURS, service]]);
	const call = await prepareCall(OURS, { upstream: upstream.url, service: service.url });
	// Calls of one session must have ids of their own.
	const paths = [withFreshIds(call)];
	const missing = new Map([[call.name, 'nothing']]);
	for (const peer of PEERS) {
		const port = String(await findPort('127.0.0.1', 0));
		const subject = started.use(await startPeer(peer, { folder, upstream: upstream.url, port }));
		subjects.set(peer.name, subject);
		paths.push(await pathOf(peer, subject.url));
		missing.set(peer.name, missingIn(peer));
	}
	const measured = await runRounds(paths, async (server) => (await subjects.get(server)?.cpuMicros()) ?? Number.NaN);
	print(measured, { title: 'does not', of: ({ name }) => missing.get(name) ?? '' });
}

await main();
