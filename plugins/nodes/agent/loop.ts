// The loop of an agent: ask the model, run the tools that it calls, tell it the results, until it answers.

import {
	asGatewayError,
	type ChatMessage,
	type ChatToolCall,
	GatewayError,
	hasManyNames,
	hintsOf,
	isObject,
	type Json,
	type JsonObject,
	type JsonSchema,
	MANY_NAMES,
	type ModelAnswer,
	type NodeCall,
	parseJson,
	type RunResult,
	readStructured,
	repairing,
	type Tool,
	wholeAnswer,
} from '../../../core/index.ts';
import type { AgentConfig } from './config.ts';
import { promptOf } from './prompt.ts';
import { cut, type Offered, type Told, toldOf } from './tools.ts';

export interface Toolbox {
	tools: readonly Offered[];
	/** Whether each call of the tool waits for a person. */
	asksFor(tool: Readonly<Tool>): boolean;
	invoke(name: string, args: Json): Promise<RunResult>;
}

/** An answer of the model, as its step keeps it. */
type Turn = {
	text: string;
	toolCalls: { id: string; name: string; arguments: string }[];
	reason: string;
	cost: number | null;
	kept?: JsonObject;
};

/** A call of the model’s: the tool and its arguments, or why there are none, or that the client runs it. */
type Prepared = { offered: Offered; args: JsonObject } | { refused: string } | { client: ChatToolCall };

const MAX_TRANSCRIPT_CHARS = 4 * 1024 * 1024;
const MICRO = 1_000_000;
const MOST_SHOWN_CHARS = 3000;
const MOST_NAME_CHARS = 64;

const ANSWER: JsonSchema = {
	type: 'object',
	properties: {
		approved: { type: 'boolean', title: 'Approved', description: 'Whether the tool may run.' },
		comment: { type: 'string', title: 'Comment', description: 'The model reads it.', maxLength: 2000 },
	},
	required: ['approved'],
	additionalProperties: false,
};

export class Loop {
	readonly #given: AgentConfig;
	readonly #call: NodeCall;
	readonly #box: Toolbox;
	readonly #messages: ChatMessage[];
	#spentMicroUsd = 0;

	constructor(given: AgentConfig, call: NodeCall, box: Toolbox) {
		this.#given = given;
		this.#call = call;
		this.#box = box;
		this.#messages = promptOf(given, call);
	}

	/** Returns the output. @throws conflict at a bound, upstream_failed, and what the model and its tools throw */
	async run(): Promise<Json> {
		const { maxIterations, output } = this.#given;
		let isRepaired = false;
		for (let at = 1; at <= maxIterations; at++) {
			const turn = await this.#ask(at);
			if (turn.toolCalls.length > 0) {
				await this.#answer(turn, at);
				continue;
			}
			const read = output ? await readStructured(turn.text, output.schema, this.#call) : { value: turn.text };
			if ('value' in read) return read.value;
			if (isRepaired)
				throw new GatewayError('upstream_failed', `The model’s answer is not JSON of the schema: ${read.faults.replaceAll('\n', '; ')}`);
			isRepaired = true;
			const repair = repairing(read.faults, output?.schema ?? {});
			this.#messages.push({ role: 'assistant', content: turn.text, ...keptOf(turn) }, { role: 'user', content: repair });
		}
		throw new GatewayError('conflict', `The model had no answer after ${maxIterations} turns, which is "maxIterations".`);
	}

	async #ask(at: number): Promise<Turn> {
		this.#assertWithin();
		const { maxIterations, atLimit, maxCost } = this.#given;
		this.#call.progress(at, maxIterations, `The model is asked, turn ${at}.`);
		const isLast = at === maxIterations && atLimit === 'answer';
		const turn = await this.#call.step(`turn:${at}`, async () => turnOf(await wholeAnswer(this.#chat(isLast))));
		if (turn.reason === 'content_filter') throw new GatewayError('upstream_failed', 'The provider’s content filter withheld the answer.');
		if (turn.cost === null && maxCost !== undefined)
			throw new GatewayError('conflict', 'The cost of this model is not known, so "maxCost" cannot be kept.');
		this.#spentMicroUsd += turn.cost ?? 0;
		return turn;
	}

	#chat(isLast: boolean): ReturnType<NodeCall['chat']> {
		const { providerId, model, temperature, topP, maxTokens, output } = this.#given;
		const tools = [...this.#box.tools.map(({ chat }) => chat), ...(this.#call.clientTools?.list ?? [])];
		return this.#call.chat(providerId, {
			messages: this.#messages,
			...(tools.length > 0 && { tools, ...(isLast && { toolChoice: 'none' as const }) }),
			...(model !== undefined && { model }),
			...(temperature !== undefined && { temperature }),
			...(topP !== undefined && { topP }),
			...(maxTokens !== undefined && { maxTokens }),
			...(output && { output: { name: output.name, schema: output.schema } }),
		});
	}

	/** @throws conflict when what may be spent is spent, or the transcript is too long */
	#assertWithin(): void {
		const { maxCost } = this.#given;
		if (maxCost !== undefined && this.#spentMicroUsd >= maxCost * MICRO)
			throw new GatewayError(
				'conflict',
				`The model has cost ${(this.#spentMicroUsd / MICRO).toFixed(4)} US dollars, and "maxCost" is ${maxCost}.`,
			);
		const chars = this.#messages.reduce((sum, { content }) => sum + (typeof content === 'string' ? content.length : 0), 0);
		if (chars > MAX_TRANSCRIPT_CHARS) throw new GatewayError('conflict', 'What the model has to read is longer than 4 Mi characters.');
	}

	/** Runs the tools of an answer, after all questions about them, and adds the results for the model. */
	async #answer(answer: Turn, turn: number): Promise<void> {
		const { text, toolCalls } = answer;
		const isTooMuch = hasManyNames(toolCalls.map(({ arguments: written }) => written).join('\n'));
		const prepared = toolCalls.map((call) => this.#prepare(call, isTooMuch));
		const refusals = await Promise.all(prepared.map((one, at) => this.#approve(one, `${turn}:${at}`)));
		const told = await inParallel(prepared, this.#given.parallelCalls, (one, at) => this.#run(refusals[at] ?? one, `${turn}:${at}`));
		await this.#askClient(prepared, told, turn);
		this.#messages.push({ role: 'assistant', content: text === '' ? null : text, toolCalls, ...keptOf(answer) });
		for (const [at, { id }] of toolCalls.entries()) {
			const { text: content = '', isError = true } = told[at] ?? {};
			this.#messages.push({ role: 'tool', toolCallId: id, content, isError });
		}
	}

	/** Has the client run its tools, after all others, and puts their results among the others. */
	async #askClient(prepared: readonly Prepared[], told: Told[], turn: number): Promise<void> {
		const calls = prepared.flatMap((one, at) => ('client' in one ? [{ at, call: one.client }] : []));
		const results =
			calls.length === 0
				? []
				: await this.#call.clientTools?.call(
						calls.map(({ call }) => call),
						`${turn}`,
					);
		for (const [index, { at }] of calls.entries()) told[at] = cut(results?.[index] ?? '', this.#given.maxResultChars);
	}

	/** @param isTooMuch whether parsing the arguments of all calls would take too long */
	#prepare(call: ChatToolCall, isTooMuch: boolean): Prepared {
		const { name, arguments: written } = call;
		if (this.#call.clientTools?.list.some((tool) => tool.name === name)) return { client: call };
		const offered = this.#box.tools.find(({ chat }) => chat.name === name);
		if (!offered) return { refused: `There is no tool "${name.slice(0, MOST_NAME_CHARS)}".` };
		if (isTooMuch) return { refused: `The arguments of these calls have ${MANY_NAMES}: make fewer calls at once, or smaller ones.` };
		try {
			const args = parseJson(Buffer.from(written.trim() === '' ? '{}' : written));
			return isObject(args) ? { offered, args } : { refused: 'The arguments must be a JSON object.' };
		} catch (thrown) {
			const [fault] = asGatewayError(thrown)?.details ?? [];
			return { refused: fault?.path ? `The arguments cannot be sent: ${fault.path} ${fault.message}` : 'The arguments are not JSON.' };
		}
	}

	/** Asks about a call that needs it. @returns the refusal; null when it may run */
	async #approve(prepared: Prepared, key: string): Promise<Prepared | null> {
		if (!('offered' in prepared) || !this.#box.asksFor(prepared.offered.tool)) return null;
		const { approvers, approvalTimeoutMs } = this.#given;
		const args = JSON.stringify(prepared.args, null, 1);
		const shown = args.length > MOST_SHOWN_CHARS ? `${args.slice(0, MOST_SHOWN_CHARS)}…` : args;
		const answer = await this.#call.suspend(
			{
				...{ message: `May the agent run “${prepared.offered.tool.name}” with these arguments?\n${shown}`, schema: ANSWER },
				...(approvalTimeoutMs !== undefined && { timeoutMs: approvalTimeoutMs }),
				...(approvers && { approvers }),
			},
			`approve:${key}`,
		);
		const { approved, comment } = isObject(answer) ? answer : {};
		if (approved === true) return null;
		return { refused: `A person did not allow this call.${typeof comment === 'string' && comment !== '' ? ` They said: ${comment}` : ''}` };
	}

	async #run(prepared: Prepared, key: string): Promise<Told> {
		if (!('offered' in prepared)) return { text: 'refused' in prepared ? prepared.refused : '', isError: true };
		const { offered, args } = prepared;
		return this.#call.step(`tool:${key}`, () => this.#invoke(offered.tool.name, args), { once: !isRepeatable(offered.tool) });
	}

	/** Runs a tool. The model is told what went wrong, except where the run itself cannot go on. */
	async #invoke(name: string, args: JsonObject): Promise<Told> {
		try {
			return toldOf(await this.#box.invoke(name, args), this.#given.maxResultChars);
		} catch (thrown) {
			const error = asGatewayError(thrown);
			if (!error || error.code === 'unavailable' || this.#call.signal.aborted) throw thrown;
			return { text: error.message, isError: true };
		}
	}
}

const isRepeatable = ({ annotations }: Readonly<Tool>): boolean => hintsOf(annotations).idempotentHint;

const keptOf = ({ kept }: Pick<ModelAnswer, 'kept'>): { kept?: JsonObject } => (kept ? { kept } : {});

const turnOf = ({ text, toolCalls, reason, usage, ...answer }: ModelAnswer): Turn => ({
	...{ text, reason, cost: usage?.costMicroUsd ?? null, ...keptOf(answer) },
	// A model that counts its calls with gaps leaves holes.
	toolCalls: toolCalls.filter((call) => call !== undefined).map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
});

/** Does the work for each item, in their order, some at once. */
async function inParallel<T, R>(items: readonly T[], most: number, work: (item: T, at: number) => Promise<R>): Promise<R[]> {
	const results: R[] = [];
	const left = items.entries();
	const worker = async (): Promise<void> => {
		for (const [at, item] of left) results[at] = await work(item, at);
	};
	await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
	return results;
}
