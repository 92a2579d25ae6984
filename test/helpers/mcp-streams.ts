// Streams of notifications that a client of MCP opens: GET of the legacy revisions, and `subscriptions/listen`.

import assert from 'node:assert/strict';
import { eventsOf } from '../../core/index.ts';
import { META } from './mcp.ts';

export interface NotificationStream {
	response: Response;
	/** The ids and messages that came, oldest first; the message is null for an event without data. */
	// biome-ignore lint/suspicious/noExplicitAny: tests read into messages whose shape is what they test
	seen: { id: string | null; message: any }[];
	/** Resolves when the stream has ended in order, or was left. */
	ended: Promise<void>;
	leave(): void;
}

/** Reads a stream while it is open. @throws AssertionError when the answer is none */
export async function readStream(opening: (signal: AbortSignal) => Promise<Response>): Promise<NotificationStream> {
	const leaving = new AbortController();
	const response = await opening(leaving.signal);
	assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/, `${response.status}`);
	const seen: NotificationStream['seen'] = [];
	const reading = async (): Promise<void> => {
		for await (const { id, data } of eventsOf(response.body ?? assert.fail()))
			seen.push({ id: id || null, message: data === '' ? null : JSON.parse(data) });
	};
	const ended = reading().catch((error: unknown) => {
		if (!leaving.signal.aborted) throw error;
	});
	return { response, seen, ended, leave: () => leaving.abort() };
}

export const openGet = (url: string, headers: Record<string, string>): Promise<NotificationStream> => {
	const sent = { accept: 'text/event-stream', 'accept-encoding': 'gzip', 'mcp-protocol-version': '2025-11-25', ...headers };
	return readStream((signal) => fetch(url, { headers: sent, signal }));
};

/** @param notifications the filter of the subscription */
export const openListen = (url: string, notifications: unknown, headers: Record<string, string>): Promise<NotificationStream> => {
	const own = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'accept-encoding': 'gzip' };
	const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
	const body = { jsonrpc: '2.0', id: 'l1', method: 'subscriptions/listen', params: { notifications, _meta: META } };
	return readStream((signal) =>
		fetch(url, { method: 'POST', headers: { ...own, ...modern, ...headers }, body: JSON.stringify(body), signal }),
	);
};

export const methodsOf = ({ seen }: NotificationStream): string[] =>
	seen.flatMap(({ message }) => (message?.method ? [message.method] : []));
