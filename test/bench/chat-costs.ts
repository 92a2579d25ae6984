// The cost of a chat, and of one streamed token more, by several paths to the same model: CPU of whoever asks the model, and time.

import OpenAI from 'openai';
import { median } from './rounds.ts';

const [ROUNDS, WARM_UP, CHATS, AT_ONCE, TOKENS, SECOND_MS] = [6, 1, 80, 8, 500, 1000] as const;

export interface Path {
	chat(message: string, isStreamed: boolean): Promise<void>;
	/** Returns the CPU time so far of whoever asks the model, in microseconds. */
	cpuMicros(): Promise<number>;
}

interface Cost {
	cpuMicros: number;
	ms: number;
}

async function costOf(path: Path, tokens: number, isStreamed: boolean, chats: number): Promise<Cost> {
	const [cpu, startedMs] = [await path.cpuMicros(), performance.now()];
	let left = chats;
	const one = async (): Promise<void> => {
		while (left-- > 0) await path.chat(`Write tokens: ${tokens}`, isStreamed);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, one));
	return { cpuMicros: ((await path.cpuMicros()) - cpu) / chats, ms: ((performance.now() - startedMs) / chats) * AT_ONCE };
}

/** A chat of one token, and one token more of a stream. */
async function round(path: Path): Promise<{ chat: Cost; token: Cost }> {
	const chat = await costOf(path, 1, false, CHATS);
	const short = await costOf(path, 1, true, CHATS);
	const long = await costOf(path, TOKENS + 1, true, CHATS / 4);
	return { chat, token: { cpuMicros: (long.cpuMicros - short.cpuMicros) / TOKENS, ms: (long.ms - short.ms) / TOKENS } };
}

/** Measures all paths in turn, and prints the second beside the first. */
export async function compare(paths: readonly Path[], name: string): Promise<void> {
	const seen = paths.map((): { chat: Cost; token: Cost }[] => []);
	for (let at = -WARM_UP; at < ROUNDS; at++)
		for (const [index, path] of paths.entries()) {
			const one = await round(path);
			if (at >= 0) seen[index]?.push(one);
		}
	print(seen, name);
}

/** Asks the model by OpenAI's own client. */
export function directly(baseURL: string): Path {
	const client = new OpenAI({ apiKey: 'none', baseURL });
	const cpuMicros = async (): Promise<number> => {
		const { user, system } = process.cpuUsage();
		return user + system;
	};
	return {
		cpuMicros,
		async chat(message) {
			const messages = [{ role: 'user' as const, content: message }];
			const answer = await client.chat.completions.create({ model: 'small', messages, stream: true });
			let text = '';
			for await (const { choices } of answer) text += choices[0]?.delta.content ?? '';
			if (!text.startsWith('token')) throw new Error(text);
		},
	};
}

function print([direct = [], ours = []]: { chat: Cost; token: Cost }[][], name: string): void {
	process.stdout.write(
		`| | directly, CPU µs | ${name}, CPU µs | ratio | directly, ms | ${name}, ms | ratio |\n|---|---|---|---|---|---|---|\n`,
	);
	for (const what of ['chat', 'token'] as const) {
		const cells = (['cpuMicros', 'ms'] as const).flatMap((unit) => {
			const [before, after] = [direct, ours].map((rounds) => rounds.map((one) => one[what][unit])) as [number[], number[]];
			const ratios = after.map((value, at) => value / (before[at] ?? Number.NaN));
			const digits = unit === 'ms' ? 3 : 0;
			return [median(before).toFixed(digits), median(after).toFixed(digits), median(ratios).toFixed(2)];
		});
		process.stdout.write(`| ${what === 'chat' ? 'a chat of one token' : 'one streamed token more'} | ${cells.join(' | ')} |\n`);
	}
	const perSecond = (rounds: readonly { token: Cost }[]): string =>
		Math.round((AT_ONCE * SECOND_MS) / median(rounds.map(({ token }) => token.ms))).toLocaleString('en');
	process.stdout.write(
		`\nStreamed tokens a second, ${AT_ONCE} streams at once: ${perSecond(direct)} directly, ${perSecond(ours)} ${name}.\n`,
	);
}
