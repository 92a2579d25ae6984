// Answers with events at a gateway; where there is no place for one more stream, with what the transport answers then.

import { Readable } from 'node:stream';
import type { Request } from '@hapi/hapi';
import type { Call } from '../contract/context.ts';
import { PluginFault } from '../contract/errors.ts';
import type { Incoming } from '../contract/nouns.ts';
import type { Answer } from '../http/answer.ts';
import { NoMoreStreams, type Streams } from '../http/streams.ts';
import { type CheckedReply, checkReply, type EventReply, type ReplyFrom } from './check-reply.ts';
import { discard, handle, respond } from './handling.ts';
import type { MountedRoute } from './mount.ts';
import type { StillAdmitted, StreamCaller } from './still-admitted.ts';

interface StreamedRequest {
	request: Request;
	mounted: MountedRoute;
	incoming: Incoming;
	call: Call;
	leaving: AbortController;
	from: ReplyFrom;
	streams: Streams;
	admitted: StillAdmitted;
	/** Null on public routes. */
	who: StreamCaller | null;
}

/** @throws rate_limited, unavailable; what the source of the events throws at once; what `whenFull` throws */
export async function respondEvents(reply: CheckedReply & { events: EventReply }, around: StreamedRequest): Promise<Answer> {
	const { source, finite = false, whenFull } = reply.events;
	const { request, call, leaving, streams, admitted, who } = around;
	// A call in flight ends by itself; whoever listens does so as long as they may.
	const followed = who && !finite ? admitted.follow(who) : null;
	if (request.raw.res.closed) followed?.leave();
	request.raw.res.once('close', () => followed?.leave());
	try {
		const own = { account: await call.account(), leaving, log: call.log, mayFinish: finite, headers: reply.headers };
		const streaming = { ...own, ...(followed && { until: followed.signal }) };
		if (!(source instanceof Readable)) return await streams.events(request, source, streaming);
		return passed(reply, streams.pass(request, source, streaming), call);
	} catch (thrown) {
		followed?.leave();
		discard({ body: source });
		if (whenFull && thrown instanceof NoMoreStreams) return respond(await answerWhole(() => whenFull(thrown), around), call);
		throw thrown;
	}
}

/** Answers with an event stream that the plugin writes, and with its status. */
function passed(reply: CheckedReply, body: Readable | null, call: Call): Answer {
	const answer = respond({ ...reply, body: body ?? undefined }, call);
	// A client that does not read would else keep its connection, and with it the service from stopping.
	answer.headers['connection'] = 'close';
	return answer;
}

/** Has the transport answer without events, within the time of a handler. */
async function answerWhole(
	handler: MountedRoute['route']['handler'],
	{ mounted, from, ...around }: StreamedRequest,
): Promise<CheckedReply> {
	const reply = checkReply(await handle({ ...mounted, route: { ...mounted.route, handler } }, around), from);
	if (reply.events) throw new PluginFault(from.plugin, 'whenFull must not answer with events.');
	return reply;
}
