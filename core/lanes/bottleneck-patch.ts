// Two of Bottleneck's scripts, mended: it takes a place or frees one with a single command, and when Redis does not answer that, it
// forgets the place, which nobody can use then until it expires.

import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from '../shared/redis.ts';

const RETRY_MS = 500;
/** As Lua's `{ false }` arrives. */
const NO_PLACE = [null];

export interface Mending {
	/** No place is taken any more. */
	isRetired: () => boolean;
	/** Hears of freeing that Bottleneck does not wait for. */
	onFreeing: (freeing: Promise<void>) => void;
}

type Command = (...input: unknown[]) => Promise<unknown>;
type Answer = (error: Error | null, answer?: unknown) => void;

/**
 * Places are freed until Redis has heard it, or the connection is given up: also those of which nobody knows whether they were
 * taken. To hear it twice does Redis no harm. To be called before Bottleneck defines its scripts.
 */
export function mendScripts(client: RedisClient, { isRetired, onFreeing }: Mending): void {
	const define = client.defineCommand.bind(client);
	// ioredis puts scripts there under names that its types cannot know.
	const commands = client as unknown as Record<string, Command>;
	client.defineCommand = (name, definition) => {
		define(name, definition);
		const once = commands[name]?.bind(client);
		if (!once) return;
		if (name === 'free') commands[name] = mended((input) => insist(client, () => once(...input)));
		if (name !== 'register') return;
		const take = mended((input) => orFree(once, input, (place) => onFreeing(free(commands, place))));
		const refuse = mended(async () => NO_PLACE);
		commands[name] = (...input) => (isRetired() ? refuse : take)(...input);
	};
}

/** Bottleneck ends its input with a callback. */
function mended(work: (input: unknown[]) => Promise<unknown>): Command {
	return async (...input) => {
		const answer = input.pop() as Answer;
		work(input).then(
			(result) => answer(null, result),
			(error: Error) => answer(error),
		);
	};
}

async function insist(client: RedisClient, send: () => Promise<unknown>): Promise<unknown> {
	for (;;) {
		try {
			return await send();
		} catch (error) {
			if (isAnswer(error) || client.status === 'end') throw error;
			client.emit('error', error);
			await sleep(RETRY_MS, undefined, { ref: false });
		}
	}
}

async function orFree(once: Command, input: unknown[], onDoubt: (place: unknown[]) => void): Promise<unknown> {
	try {
		return await once(...input);
	} catch (error) {
		// How many keys, the keys, then time, client and place: what `free` takes too.
		if (!isAnswer(error)) onDoubt(input.slice(0, Number(input[0]) + 4));
		throw error;
	}
}

const free = (commands: Record<string, Command>, place: unknown[]): Promise<void> =>
	new Promise((resolve) => void commands['free']?.(...place, () => resolve()));

/** Redis did look at the command. Until it has loaded its data, or may write, it is as good as away. */
const isAnswer = (error: unknown): boolean =>
	error instanceof Error && error.name === 'ReplyError' && !/^(LOADING|BUSY|READONLY)\b/.test(error.message);
