// An error tracker on loopback that keeps the envelopes it receives: https://develop.sentry.dev/sdk/data-model/envelopes/.

import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { httpUpstream } from '../../testing/upstream.ts';
import { until } from '../../testing/waiting.ts';

export interface Received {
	path: string;
	auth: string;
	/** All that arrived, as it was sent. */
	text: string;
	header: Record<string, unknown>;
	// biome-ignore lint/suspicious/noExplicitAny: tests read into events
	event: any;
}

export interface TestTracker {
	dsn: string;
	received: Received[];
	/** Answers from now on; by default 200 with the event's id. Never answers with null. */
	answers(answer: ((response: ServerResponse) => void) | null): void;
	/** Waits until this many envelopes have arrived. */
	arrived(count: number): Promise<void>;
}

const PROJECT = '42';

export async function startTracker(t: TestContext): Promise<TestTracker> {
	const received: Received[] = [];
	let answer: ((response: ServerResponse) => void) | null = (response) => void response.end('{}');
	const upstream = await httpUpstream(t, (request, response) => {
		const parts: Buffer[] = [];
		request.on('data', (part: Buffer) => parts.push(part));
		request.on('end', () => {
			const text = Buffer.concat(parts).toString();
			const [header = '{}', item = '{}', payload = '{}'] = text.split('\n');
			const { type } = JSON.parse(item) as { type: string };
			const { pathname, search } = new URL(request.url ?? '', 'http://tracker');
			const auth = `${search}${String(request.headers['x-sentry-auth'] ?? '')}`;
			if (type === 'event') received.push({ path: pathname, auth, text, header: JSON.parse(header), event: JSON.parse(payload) });
			answer?.(response);
		});
	});
	return {
		dsn: `${upstream.origin.replace('//', '//public@')}/${PROJECT}`,
		received,
		answers: (next) => {
			answer = next;
		},
		arrived: (count) => until(() => received.length >= count, `${count} envelopes`),
	};
}
