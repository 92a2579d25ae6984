// The error tracker of ERROR_TRACKER_DSN (specification 7): server errors and what nothing caught, never a client's error.

import { asGatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';
import { createEgress } from '../egress/egress.ts';
import type { Fault, Report } from './faults.ts';
import { Pace } from './pace.ts';

/** The time that stopping may take for what still waits. */
const FLUSH_MS = 2000;

export interface Tracker {
	report: Report;
	/** Returns a log whose lines of errors are reported, too, when they tell of something thrown. */
	hearing<L extends Log>(log: L): L;
	close(): Promise<void>;
}

const NONE: Tracker = { report: () => undefined, hearing: (log) => log, close: () => Promise.resolve() };

/** @param dsn null without a tracker, whose client is not even loaded then. @param log tells when the tracker cannot be reached */
export async function createTracker(dsn: string | null, log: Log): Promise<Tracker> {
	if (dsn === null) return NONE;
	const { createClient } = await import('./client.ts');
	// The operator named this address, wherever it is; the guard opens it, and no other.
	const egress = createEgress({ allow: [new URL(dsn).origin] });
	const client = createClient({ dsn, log, request: (options) => egress.request(options) });
	const pace = new Pace();
	const report: Report = (fault) => {
		try {
			if (isOfClient(fault)) return;
			const held = pace.admit(keyOf(fault));
			if (held !== null) client.capture(fault, held);
		} catch {
			// A failure in here must not become the error of a request.
		}
	};
	return {
		report,
		hearing: (inner) => ({ ...inner, error: heard(inner, report) }),
		async close() {
			await client.close(FLUSH_MS);
			await egress.close();
		},
	};
}

/** Whether it is an error that its client made. */
function isOfClient({ thrown, status }: Fault): boolean {
	return (status ?? asGatewayError(thrown)?.status ?? 500) < 500;
}

function keyOf({ what, thrown, code, plugin, gateway }: Fault): string {
	const { name } = thrown instanceof Error ? thrown : { name: '' };
	return [what, code, plugin, gateway, name].join(' ');
}

/** A line that names what was thrown tells of an error that nothing foresaw; all others tell of a state. */
function heard(log: Log, report: Report): Log['error'] {
	return (fields, message) => {
		log.error(fields, message);
		const { err, error = err, plugin, gateway, organizationId, requestId } = (fields ?? {}) as Record<string, unknown>;
		if (!(error instanceof Error) && !(typeof error === 'string' && /\n\s+at /.test(error))) return;
		const names = { plugin, gateway, organizationId, requestId };
		const given = Object.entries(names).filter(([, value]) => typeof value === 'string');
		// A plugin's sentence may quote its input; ours do not.
		const what = plugin === undefined && message !== undefined ? message : 'an error that nothing foresaw';
		report({ what, thrown: error, ...Object.fromEntries(given) });
	};
}
