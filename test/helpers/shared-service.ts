// The service of a whole run: a process of its own, started when the first file needs it.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SharedService } from './service.ts';

type Told = Pick<SharedService, 'url' | 'config'>;

interface Running {
	/** Resolves with what files need to know about the service. */
	told: Promise<Told>;
	stop(): Promise<void>;
}

/** Offers the service to the files of a run. @returns the URL where they obtain it */
export async function offerService(): Promise<{ url: string; stop(): Promise<void> }> {
	let running: Running | null = null;
	const server = createServer((_request, response) => {
		running ??= startProcess();
		running.told.then(
			(told) => response.setHeader('content-type', 'application/json').end(JSON.stringify(told)),
			(error) => response.writeHead(500).end(String(error)),
		);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	// The server listens on TCP, so the address is not a pipe's name.
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}/`,
		async stop() {
			server.close();
			await running?.stop();
		},
	};
}

function startProcess(): Running {
	// Only the runner's arguments of the heap: others would make the child a test runner.
	const child = fork(new URL(import.meta.url), { execArgv: process.execArgv.filter((option) => option.includes('-space-size=')) });
	const ended = once(child, 'exit');
	const told = Promise.race([once(child, 'message'), ended.then(([code]) => Promise.reject(new Error(`It ended with ${code}.`)))]);
	return {
		told: told.then(([message]) => message as Told),
		async stop() {
			if (child.connected) child.disconnect();
			await ended;
		},
	};
}

/** Serves until the parent process is gone or asks it to stop. */
async function serve(): Promise<void> {
	const { startTestService } = await import('./service.ts');
	const { url, config, stop } = await startTestService();
	process.once('disconnect', () => void stop());
	process.send?.({ url, config });
}

if (import.meta.main) await serve();
