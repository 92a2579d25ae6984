// The client of a request: its address and user agent, and a signal for its leaving.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { Actor } from '../store/store.ts';
import { clientAddress } from './addresses.ts';

const MAX_USER_AGENT = 300;

/** Returns the client's data for the audit log and the list of logins. */
export function clientOf(request: Request, { config }: { config: Config }): Pick<Actor, 'address' | 'userAgent' | 'requestId'> {
	const { headers } = request.raw.req;
	return {
		address: clientAddress(request.info.remoteAddress, headers['x-forwarded-for']?.toString(), config.trustProxy),
		userAgent: headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null,
		requestId: request.info.id,
	};
}

/** Returns a signal that aborts when the client leaves before its answer is complete, or the service stops and its time to finish is over. */
export const clientSignal = (request: Request): AbortSignal => clientLeaving(request).signal;

/** Returns the controller of that signal, for other reasons to abort. */
export function clientLeaving(request: Request): AbortController {
	const controller = new AbortController();
	const { res } = request.raw;
	const { inFlight } = request.server.app;
	if (res.closed) {
		controller.abort(new Error('The client left.'));
		return controller;
	}
	const call = inFlight?.add(controller);
	res.once('close', () => {
		if (call) inFlight?.remove(call);
		if (!res.writableFinished) controller.abort(new Error('The client left.'));
	});
	return controller;
}
