// Answers an operation of the management API with an event stream.

import type { Request, ResponseObject } from '@hapi/hapi';
import type { Log } from '../contract/nouns.ts';
import type { ServerEvent } from '../contract/server-events.ts';
import { clientLeaving } from '../http/client.ts';
import type { Streaming, Streams } from '../http/streams.ts';
import type { AccountOf } from '../shared/accounts.ts';
import { organizationOf } from './credentials.ts';
import type { AdmittedRequests } from './still-admitted.ts';

/** The longest stream: a credential that expires is told no more for long. One that is withdrawn ends its streams at once. */
const MAX_STREAM_MS = 15 * 60_000;

/**
 * Answers with the events of a source, which is told by the signal when its stream ends: the client has left, the caller may come no more, the
 * service stops, or the time is over. The stream counts for the account of the request's organization.
 * @throws rate_limited, unavailable; what the source throws at once
 */
export async function answerEvents(
	request: Request,
	{ streams, accountOf, log, admitted }: { streams: Streams; accountOf: AccountOf; log: Log; admitted: AdmittedRequests },
	source: (signal: AbortSignal) => AsyncIterable<ServerEvent>,
	more: Pick<Streaming, 'mayFinish' | 'headers'> = {},
): Promise<ResponseObject> {
	const leaving = clientLeaving(request);
	const account = await accountOf(organizationOf(request).id);
	// A call in flight ends by itself; whoever listens does so as long as they may.
	const followed = more.mayFinish ? null : admitted.follow(request);
	request.raw.res.once('close', () => followed?.leave());
	if (request.raw.res.closed) followed?.leave();
	try {
		const until = followed && { until: followed.signal };
		return await streams.answer(request, source(leaving.signal), { account, leaving, log, maxMs: MAX_STREAM_MS, ...until, ...more });
	} catch (thrown) {
		followed?.leave();
		throw thrown;
	}
}
