// The call of a node: core's own calls, templates and connections, a model at a real server that answers as the test says, and steps that
// outlive a lost process.

import { text as textOf } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fill } from '../../core/agents/templates.ts';
import type { Json, JsonObject, LlmProviderRow, NodeCall, RunResult, Suspension, Tool } from '../../core/features.ts';
import { type FakeTool, fakeCall } from '../../testing/fake-call.ts';
import { lentBy } from '../../testing/waiting.ts';
import { modelsAt } from './model-connections.ts';
import { httpUpstream } from './upstream.ts';

/** An answer of the model: a text, or calls of tools. */
export type Said =
	| string
	| { calls: { name: string; args: unknown }[]; text?: string; thought?: string }
	| { text: string; reason: 'length' | 'content_filter' };

/** A request to the model, as OpenAI writes it. */
export interface Sent {
	model: string;
	messages: { role: string; content: Json; tool_calls?: Json; tool_call_id?: string; reasoning_content?: string }[];
	tools?: { function: { name: string; parameters: JsonObject } }[];
	tool_choice?: Json;
	response_format?: JsonObject;
	temperature?: number;
}

export interface NodeWorldOptions {
	/** The answers of the model, in their order. */
	answers?: readonly Said[];
	/** Further members of the connection’s row. */
	connection?: Partial<LlmProviderRow>;
	tools?: readonly (FakeTool & Partial<Tool>)[];
	/** Runs a tool of the node’s own. */
	execute?: NodeCall['execute'];
	/** The values of placeholders, by the first word of their path. */
	scope?: Record<string, Json>;
	/** The answer to each question; null: nobody answers. */
	agreed?: (question: Suspension, key: string) => Json;
	signal?: AbortSignal;
}

export interface NodeWorld {
	/** Makes a call that finds the steps of those before. */
	call(): NodeCall;
	sent: Sent[];
	/** The questions that were asked, and the tools that were run. */
	questions: { key: string; question: Suspension }[];
	ran: { name: string; args: Json }[];
	steps: Map<string, Kept>;
	progress: readonly { done: number }[];
}

interface Kept {
	once: boolean;
	output?: Json;
}

/** The end of a run that waits for an answer. */
export class Waiting extends Error {}

export async function nodeWorld(t: TestContext, options: NodeWorldOptions = {}): Promise<NodeWorld> {
	const { answers = [], tools = [], scope = {}, agreed = () => null, signal } = options;
	const [sent, questions, ran]: [Sent[], NodeWorld['questions'], NodeWorld['ran']] = [[], [], []];
	const steps = new Map<string, Kept>();
	const server = await httpUpstream(t, async (request, response) => {
		sent.push(JSON.parse(await textOf(request)) as Sent);
		const said = answers[sent.length - 1];
		if (said === undefined) return void response.writeHead(500).end('{}');
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.end(`${eventsOf(said).join('\n\n')}\n\ndata: [DONE]\n\n`);
	});
	const watched = tools.map((tool) => ({
		...tool,
		run(args: JsonObject) {
			ran.push({ name: tool.name, args });
			return tool.run(args);
		},
	}));
	const fake = fakeCall({ tools: watched, ...(signal && { signal }) });
	t.after(() => fake.close());
	const { models } = modelsAt(t, server.origin, options.connection);
	const verbs: Partial<NodeCall> = {
		fill: (template) => fill(template, scope),
		chat: (providerId, request) => models.chat({ ...request, providerId }, fake.call.signal),
		toolbox: async () => ({ list: await fake.call.tools(), invoke: (name, args) => fake.call.invoke({ name }, args) }),
		...(options.execute && { execute: options.execute }),
		async step<T extends Json>(key: string, work: (signal: AbortSignal) => Promise<T>, { once = false } = {}): Promise<T> {
			const known = steps.get(key);
			// The step of this key returned a T.
			if (known?.output !== undefined) return known.output as T;
			if (known?.once) throw new Error(`in doubt: ${key}`);
			const kept: Kept = { once };
			steps.set(key, kept);
			kept.output = JSON.parse(JSON.stringify(await work(fake.call.signal)));
			return kept.output as T;
		},
		async suspend(question, key = '') {
			questions.push({ key, question });
			const answer = agreed(question, key);
			if (answer === null) throw new Waiting();
			return answer;
		},
	};
	return { call: () => lentBy(fake.call, verbs) as NodeCall, sent, questions, ran, steps, progress: fake.progress };
}

const event = (delta: object, finish_reason: string | null = null): string =>
	`data: ${JSON.stringify({ id: 'c', model: 'small', choices: [{ index: 0, delta, finish_reason }] })}`;

const USED = `data: ${JSON.stringify({ id: 'c', model: 'small', choices: [], usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 } })}`;

function eventsOf(said: Said): string[] {
	if (typeof said === 'string') return [event({ role: 'assistant', content: said }), event({}, 'stop'), USED];
	if ('reason' in said) return [event({ role: 'assistant', content: said.text }), event({}, said.reason), USED];
	const { calls, text = '', thought } = said;
	const pieces = calls.map(({ name, args }, index) => {
		const written = typeof args === 'string' ? args : JSON.stringify(args);
		return event({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: written } }] });
	});
	const thoughts = thought === undefined ? [] : [event({ role: 'assistant', content: null, reasoning_content: thought })];
	return [...thoughts, event({ role: 'assistant', content: text }), ...pieces, event({}, 'tool_calls'), USED];
}

/** A result that is one text. */
export const told = (text: string, isError = false): RunResult => ({ content: [{ type: 'text', text }], ...(isError && { isError }) });
