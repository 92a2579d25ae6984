// Mends two of Bottleneck's scripts: `register` takes a place and `free` gives it back, each with a single command. When Redis does not
// answer that command, Bottleneck forgets the place, and nobody can use it until it expires.

import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from '../shared/redis.ts';

const RETRY_MS = 500;
/** The answer `{ false }` of a Lua script, as ioredis delivers it. */
const NO_PLACE = [null];

export interface Mending {
	/** Whether the connection must take no more places. */
	isRetired: () => boolean;
	/** Receives each attempt to free a place of which Bottleneck does not know. */
	onFreeing: (freeing: Promise<void>) => void;
}

type Command = (...input: unknown[]) => Promise<unknown>;
type Answer = (error: Error | null, answer?: unknown) => void;

/**
 * Repeats `free` until Redis has answered or the connection has ended, and frees places of which it is unknown whether they were taken;
 * freeing a place twice does no harm. Must be called before Bottleneck defines its scripts.
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

/** Adapts to Bottleneck, which passes a callback as the last argument. */
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
		// `free` takes the same beginning of the arguments: the number of keys, the keys, the time, the client and the place.
		if (!isAnswer(error)) onDoubt(input.slice(0, Number(input[0]) + 4));
		throw error;
	}
}

const free = (commands: Record<string, Command>, place: unknown[]): Promise<void> =>
	new Promise((resolve) => void commands['free']?.(...place, () => resolve()));

/** Whether Redis ran the command. While it loads its data, is busy or may not write, it counts as away. */
const isAnswer = (error: unknown): boolean =>
	error instanceof Error && error.name === 'ReplyError' && !/^(LOADING|BUSY|READONLY)\b/.test(error.message);
