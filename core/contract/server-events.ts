// Event streams: the events that a reply may have instead of a body. Types only.

import type { GatewayError } from './errors.ts';
import type { Json, Reply } from './nouns.ts';

/** A server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html), which core frames. */
export interface ServerEvent {
	/** The type of the event, one line; clients take `message` when it is absent. */
	event?: string;
	/** A string is sent as it is, whatever lines it has; anything else as JSON. Clients dispatch no event without data. */
	data?: Json | object;
	/** The client names it in `Last-Event-ID` when it reconnects: one line of at most 256 characters. */
	id?: string;
	/** The time in milliseconds after which a client reconnects. */
	retry?: number;
	/** A text that clients ignore. */
	comment?: string;
}

/** Options of a reply whose body are events. */
export interface EventOptions {
	/**
	 * The events end by themselves, as those of a running tool do: when the service stops they have the time of calls in flight. Other streams
	 * end as soon as it stops, and so does `call.signal`.
	 */
	finite?: boolean;
	/**
	 * Answers when the account or the service has no more streams, instead of a 429 or 503: for work that goes on and must not be refused. It has
	 * no events, and nobody will iterate over those of the reply. @param refused rate_limited or unavailable
	 */
	whenFull?(refused: GatewayError): Promise<Reply>;
}
