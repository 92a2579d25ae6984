// The stream on which the gateway tells of changes, for as long as the session lasts.

import { Refusal } from '../gateway/refusals.ts';
import { type Message, onOneLine, readMessage } from '../wire/messages.ts';
import type { Context, Limits } from './context.ts';
import { pause } from './deadline.ts';
import type { Handshake } from './handshake.ts';

const TOOLS_CHANGED = 'notifications/tools/list_changed';
const CHANGED = /^notifications\/(tools|prompts)\/list_changed$/;

/** Returns the next pause: the first one after a stream that lasted, and twice the former one after any other. */
export const nextPause = (formerMs: number, lastedMs: number, { first, longest }: Limits['retryMs']): number =>
	lastedMs >= longest ? first : Math.min(Math.max(formerMs * 2, first), longest);

/** Whether a stream was refused for a reason that does not pass by itself. */
export const isLasting = (error: unknown): boolean =>
	error instanceof Refusal && ['credential', 'forbidden', 'missing'].includes(error.kind);

/** Listens until the session ends; a stream that breaks, or is of a former login, is opened anew, and tells what was missed. @param onChange for changed tools or skills */
export async function listen(context: Context, handshake: Handshake, onChange: () => void): Promise<void> {
	const { client, limits, ending } = context;
	let ms = 0;
	let last = '';
	while (!ending.aborted) {
		let openedAt = Number.POSITIVE_INFINITY;
		try {
			await client.untilRenewal(ending, async (signal) => {
				const headers = await handshake.headers();
				const events = await client.listen({ ...headers, ...(last !== '' && { 'last-event-id': last }) }, signal);
				if (!events) {
					ms = limits.retryMs.longest;
					return;
				}
				openedAt = Date.now();
				for await (const { data, id } of events) {
					if (id !== '') last = id;
					if (data !== '') await pass(readMessage(data), context, onChange);
				}
			});
		} catch (error) {
			// A refused credential is told by the requests of the client.
			if (isLasting(error)) ms = limits.retryMs.longest;
		}
		ms = nextPause(ms, Date.now() - openedAt, limits.retryMs);
		// Those whose streams ended together do not come back together.
		await pause(ms * (0.5 + Math.random() / 2), ending);
	}
}

async function pass(message: Message, { settings, send }: Context, onChange: () => void): Promise<void> {
	if (message.kind !== 'notification') return;
	if (CHANGED.test(message.method)) onChange();
	// In skill-first mode the two tools stay what they are.
	if (message.method === TOOLS_CHANGED && settings.mode !== 'full') return;
	await send(onOneLine(message.text));
}
