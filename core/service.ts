// The service: config → store → plugins → server → listen, and the orderly stop.

import type { Server } from '@hapi/hapi';
import { assemble, type ServiceOptions } from './assembly.ts';
import type { Config } from './config/config.ts';
import { createLog, type ServiceLog } from './config/log.ts';
import { GatewayError } from './contract/errors.ts';
import type { Core } from './features.ts';
import { registerAccess } from './management/access.ts';
import { registerFeatures } from './management/features.ts';
import { registerIdempotency } from './management/idempotency.ts';
import { assertNeeds } from './management/needs.ts';
import { DRAIN_MS, delay } from './process/ending.ts';
import { addressesOf, listeningFault, reachableOrigin } from './process/listening.ts';
import { createServer } from './server.ts';
import { openMetrics } from './telemetry/serving.ts';
import { tellFaultyAnswers } from './tracker/requests.ts';

export type { ServiceOptions };

export interface Service {
	/** The origin at which it listens. */
	url: string;
	/** The hapi server, for callers that inspect its routes. */
	server: Server;
	/** Fails readiness at once, waits for SHUTDOWN_DELAY_SECONDS or `hurry`, lets requests in flight finish, then closes everything. */
	stop(hurry?: AbortSignal): Promise<void>;
}

/** The time after which calls in flight are ended when the service stops: in the rest they can still be answered. */
const CALLS_MS = DRAIN_MS - 1000;
/** The time in which runs may still end when the service stops; another replica goes on with the rest. */
const RUNS_GRACE_MS = 2_000;
const NEVER = new AbortController().signal;

/** Starts the service. @throws Error with one sentence per fault: configuration, plugins, database */
export async function startService(
	config: Config,
	log: ServiceLog = createLog(config.logLevel, undefined, config.logFormat),
	options: ServiceOptions = {},
): Promise<Service> {
	// Resources are closed in reverse order of opening, also when a later step fails.
	const opened = new AsyncDisposableStack();
	const [leaving, stopping] = [new AbortController(), new AbortController()];
	try {
		const parts = await assemble({ config, log, options, stopping: stopping.signal }, opened);
		const core: Core = { ...parts, leaving: leaving.signal, stopping: stopping.signal };
		const server = createServer({ ...core, log, plugins: [...core.registry.list('transport'), ...core.registry.list('auth')] });
		server.app.inFlight = core.inFlight;
		server.app.reportFault = core.reportFault;
		tellFaultyAnswers(server);
		await server.register({ name: 'management', register: (management) => registerManagement(management, core) });
		assertNeeds(server, core);
		core.runtime.mount(server);
		opened.defer(await openMetrics(config, { server, telemetry: core.telemetry }));
		await server.initialize();
		await core.runs.open();
		await server.start().catch((error: unknown) => Promise.reject(listeningFault(error, config)));
		opened.defer(() => drain(server, core));
		opened.defer(() => stopping.abort(new GatewayError('unavailable', 'The service is stopping.')));
		log.info({ ...addressesOf(config), workerPid: process.pid }, 'listening');
		const stop = async (hurry: AbortSignal = NEVER): Promise<void> => {
			leaving.abort();
			await delay(config.shutdownDelaySeconds, hurry);
			await opened.disposeAsync();
		};
		return { url: reachableOrigin(config, '127.0.0.1'), server, stop };
	} catch (error) {
		await opened.disposeAsync();
		throw error;
	}
}

/** Lets requests in flight and runs finish. When no client waits any longer, or the time is over, all calls are ended. */
async function drain(server: Server, { runs, inFlight }: Core): Promise<void> {
	const end = (): void => inFlight.end(new GatewayError('unavailable', 'The service is stopping.'));
	const late = setTimeout(end, CALLS_MS);
	try {
		await Promise.all([server.stop({ timeout: DRAIN_MS }), runs.close(RUNS_GRACE_MS)]);
	} finally {
		clearTimeout(late);
		end();
	}
}

async function registerManagement(server: Server, core: Core): Promise<void> {
	registerAccess(server, core);
	registerIdempotency(server, core);
	await registerFeatures(server, core);
}
