// Reads what a plugin's `chat` yields, and waits no longer for a plugin that goes on although its signal aborted, or that does not end.

import { PluginFault } from '../contract/errors.ts';
import type { ChatChunk, ProviderContext } from '../contract/providers.ts';
import { isObject } from '../kit/json.ts';
import { answerOf, answerUnder, LEAVE_MS, resultOf } from '../process/hooks.ts';
import { describeThrown } from '../process/strays.ts';

/** @param plugin `kind:name`. @throws PluginFault, and what `chat` throws */
export async function* chunksOf(
	plugin: string,
	chat: () => AsyncIterable<ChatChunk>,
	{ log, signal }: Pick<ProviderContext, 'log' | 'signal'>,
): AsyncGenerator<ChatChunk> {
	const hook = { plugin, hook: 'chat' };
	const answer: unknown = resultOf(hook, chat);
	if (!isIterable(answer)) throw new PluginFault(plugin, 'chat must return an async iterable of chunks.');
	const chunks = answer[Symbol.asyncIterator]();
	let [isOpen, isOver] = [false, false];
	try {
		for (;;) {
			isOpen = false;
			const next: unknown = await answerUnder(hook, signal, () => chunks.next());
			if (!isObject(next)) throw new PluginFault(plugin, 'next of the iterator of chat must return an object.');
			isOver = next['done'] === true;
			if (isOver) return;
			isOpen = true;
			// It is checked by whoever reads it.
			yield next['value'] as unknown as ChatChunk;
		}
	} finally {
		const ending = isOver ? null : end(chunks, plugin, log);
		// One that did not answer ends when it can.
		if (isOpen) await ending;
	}
}

/** Ends an iteration before its end. The answer is what was read, however this fails. */
async function end(chunks: AsyncIterator<unknown>, plugin: string, log: ProviderContext['log']): Promise<void> {
	try {
		await answerOf({ plugin, hook: 'the end of chat' }, () => chunks.return?.(), LEAVE_MS);
	} catch (thrown) {
		log.error({ error: describeThrown(thrown) }, 'a provider did not end its answer in order');
	}
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
	typeof value === 'object' && value !== null && typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function';
