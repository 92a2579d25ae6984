// Answers an operation of the management API with an event stream.

import type { Request, ResponseObject } from '@hapi/hapi';
import type { Log } from '../contract/nouns.ts';
import type { ServerEvent } from '../contract/server-events.ts';
import { clientLeaving } from '../http/client.ts';
import type { Streaming, Streams } from '../http/streams.ts';
import type { AccountOf } from '../shared/accounts.ts';
import { organizationOf } from './access.ts';

/** The longest stream: a login that has ended must not be told more. */
const MAX_STREAM_MS = 15 * 60_000;

/**
 * Answers with the events of a source, which is told by the signal when its stream ends: the client has left, the service stops, or the time
 * is over. The stream counts for the account of the request's organization.
 * @throws rate_limited, unavailable; what the source throws at once
 */
export async function answerEvents(
	request: Request,
	{ streams, accountOf, log }: { streams: Streams; accountOf: AccountOf; log: Log },
	source: (signal: AbortSignal) => AsyncIterable<ServerEvent>,
	more: Pick<Streaming, 'mayFinish' | 'headers'> = {},
): Promise<ResponseObject> {
	const leaving = clientLeaving(request);
	const account = await accountOf(organizationOf(request).id);
	return streams.answer(request, source(leaving.signal), { account, leaving, log, maxMs: MAX_STREAM_MS, ...more });
}
