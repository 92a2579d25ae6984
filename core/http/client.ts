// Who sent a request, and whether they are still there.

import type { Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import type { Actor } from '../store/store.ts';
import { clientAddress } from './addresses.ts';

const MAX_USER_AGENT = 300;

/** From where a request comes, as the audit log and the list of logins show it. */
export function clientOf(request: Request, { config }: { config: Config }): Pick<Actor, 'address' | 'userAgent' | 'requestId'> {
	const { headers } = request.raw.req;
	return {
		address: clientAddress(request.info.remoteAddress, headers['x-forwarded-for']?.toString(), config.trustProxy),
		userAgent: headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null,
		requestId: request.info.id,
	};
}

/** Aborted when the client leaves before its answer is whole. */
export function clientSignal(request: Request): AbortSignal {
	const controller = new AbortController();
	const { res } = request.raw;
	res.once('close', () => {
		if (!res.writableFinished) controller.abort(new Error('The client left.'));
	});
	return controller.signal;
}
