// A client of event streams over fetch, which reads events one by one and may leave.

import assert from 'node:assert/strict';
import { eventsOf, type ServerSentEvent } from '../../core/index.ts';

export interface EventClient {
	/** Reads until an event for which the condition holds. @returns the events up to it */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into events whose shape is what they test
	until(condition: (data: any) => boolean): Promise<{ id: string | null; event: string; data: any }[]>;
	/** Reads to the end. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into events whose shape is what they test
	rest(): Promise<{ id: string | null; event: string; data: any }[]>;
	leave(): void;
}

/** Opens a stream. @throws AssertionError when the answer is none */
export async function openEvents(url: string, body: unknown, headers: Record<string, string>): Promise<EventClient> {
	const leaving = new AbortController();
	const all = { 'content-type': 'application/json', accept: 'text/event-stream', ...headers };
	const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers: all, signal: leaving.signal });
	assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/, await describe(response));
	// The stream is read from here on: `fetch` cancels one that nobody reads when its response is collected as garbage.
	const stream = response.body?.values() ?? assert.fail();
	const events = eventsOf(stream);
	const shown = ({ id, event, data }: ServerSentEvent) => ({ id: id || null, event: event ?? 'message', data: JSON.parse(data) });
	async function until(condition: (data: unknown) => boolean) {
		const read = [];
		for (;;) {
			const { done, value } = await events.next();
			if (done) return read;
			read.push(shown(value));
			if (condition(read.at(-1)?.data)) return read;
		}
	}
	return { until, rest: () => until(() => false), leave: () => leaving.abort() };
}

const describe = async (response: Response): Promise<string> =>
	response.headers.get('content-type')?.startsWith('text/event-stream') ? '' : `${response.status}: ${await response.clone().text()}`;
