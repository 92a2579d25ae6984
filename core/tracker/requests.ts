// Tells the error tracker of answers of 5xx, each once.

import type { Request, Server } from '@hapi/hapi';
import type { GatewayError } from '../contract/errors.ts';
import type { Report } from './faults.ts';

declare module '@hapi/hapi' {
	interface ServerApplicationState {
		reportFault?: Report;
	}
	interface PluginsStates {
		/** Whether the tracker was told of this request. */
		isFaultTold?: boolean;
	}
}

/** Reports what a request failed with, if the answer is 5xx. @param thrown what led to the error */
export function tellFault(error: GatewayError, thrown: unknown, request: Request): void {
	if (error.status >= 500) tell(request, { what: sentence(error.status), thrown, code: error.code, status: error.status });
}

/** Reports 5xx that a plugin answered itself. */
export function tellFaultyAnswers(server: Server): void {
	server.events.on('response', (request) => {
		const { response } = request;
		// The door tells of what it answers.
		if (typeof response !== 'symbol') tellAnswer(request, response instanceof Error ? 500 : (response?.statusCode ?? 0));
	});
}

/** Reports an answer, if it is 5xx. */
export function tellAnswer(request: Request, status: number): void {
	if (status >= 500) tell(request, { what: sentence(status), thrown: null, status });
}

const sentence = (status: number): string => `a request was answered with ${status}`;

function tell(request: Request, fault: Parameters<Report>[0]): void {
	const { reportFault } = request.server.app;
	if (!reportFault || request.plugins.isFaultTold) return;
	request.plugins.isFaultTold = true;
	const { feature } = request.route.settings.plugins as { feature?: string };
	const { plugin = feature === undefined ? undefined : `feature:${feature}`, gateway } = request.plugins.servedBy ?? {};
	const organizationId = request.plugins.line?.row.organizationId ?? request.auth.credentials?.organization?.id;
	const names = { plugin, gateway, organizationId, requestId: request.info.id };
	reportFault({ ...fault, ...Object.fromEntries(Object.entries(names).filter(([, value]) => value !== undefined)) });
}
