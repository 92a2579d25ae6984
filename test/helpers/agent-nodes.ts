// Small nodes for tests of the engine of agents: what core knows of a node is its contract, so these stand for all.

import { setTimeout as sleep } from 'node:timers/promises';
import Joi from 'joi';
import { type ErrorCode, GatewayError } from '../../core/contract/errors.ts';
import type { Plugin } from '../../core/contract/kinds.ts';
import type { NodeBody, NodeEffect, PipelineNode } from '../../core/contract/nodes.ts';
import type { Json, JsonObject, JsonSchema } from '../../core/contract/nouns.ts';

/** The things that a node tells a test of itself. */
export interface Effects {
	/** Hears each beginning of an effect: the tag of the run, and the name of the node; a test may keep it waiting. */
	begun?(tag: string, name: string, signal: AbortSignal): void | Promise<void>;
	ended?(tag: string, name: string): void | Promise<void>;
}

const template = (schema: Joi.Schema): Joi.Schema => schema.meta({ template: true });
const common = { kind: 'node' as const, api: 1 as const, summary: 'A node for tests.' };

interface Work {
	name: string;
	effect: NodeEffect;
	value: Json;
	/** The number of tries that fail, or always. */
	fails: number;
	code: ErrorCode;
	ms: number;
}

/** Makes the nodes; each set counts failing tries by itself. */
export function agentNodes(effects: Effects = {}): Plugin[] {
	const tries = new Map<string, number>();
	const tagOf = (input: Json): string => String((input as JsonObject | null)?.['tag'] ?? '');

	const start: PipelineNode<{ schema: JsonSchema }> = {
		...common,
		name: 'start',
		role: 'input',
		effect: 'none',
		config: Joi.object({ schema: Joi.object().unknown().default({ type: 'object' }) }),
		inputSchema: ({ schema }) => schema,
		run: async ({ input }) => ({ output: input }),
	};
	const finish: PipelineNode<{ value?: Json }> = {
		...common,
		name: 'finish',
		role: 'output',
		effect: 'none',
		config: Joi.object({ value: template(Joi.any()) }),
		run: async ({ from }, { value }, call) => ({ output: value === undefined ? (from[0]?.output ?? null) : call.fill(value) }),
	};
	const work: PipelineNode<Work> = {
		...common,
		name: 'work',
		effect: ({ effect }) => effect,
		config: Joi.object({
			name: template(Joi.string().required()),
			effect: Joi.valid('none', 'repeatable', 'once').default('repeatable'),
			value: template(Joi.any()).default(null),
			fails: Joi.number().integer().min(0).default(0),
			code: Joi.string().default('upstream_failed'),
			ms: Joi.number().integer().min(0).default(0),
		}),
		async run({ input }, config, call) {
			const [tag, name] = [tagOf(input), String(call.fill(config.name))];
			await effects.begun?.(tag, name, call.signal);
			if (config.ms > 0) await sleep(config.ms, undefined, { signal: call.signal });
			const tried = (tries.get(`${tag} ${name}`) ?? 0) + 1;
			tries.set(`${tag} ${name}`, tried);
			if (tried <= config.fails) throw new GatewayError(config.code, `${name} failed.`);
			await effects.ended?.(tag, name);
			return { output: config.value === null ? name : call.fill(config.value) };
		},
	};
	const choose: PipelineNode<{ way: string; ways: string[] }> = {
		...common,
		name: 'choose',
		effect: 'none',
		ports: ({ ways }) => ways,
		config: Joi.object({ way: template(Joi.string().required()), ways: Joi.array().items(Joi.string()).default(['yes', 'no']) }),
		run: async (_input, { way }, call) => ({ output: null, port: String(call.fill(way)) }),
	};
	const each: PipelineNode<{ items: Json; body: Omit<NodeBody, 'path'>; concurrency: number; stops: boolean }> = {
		...common,
		name: 'each',
		effect: 'none',
		body: ({ body }) => ({ path: '/body', ...body }),
		config: Joi.object({
			items: template(Joi.any().required()),
			body: Joi.object({ nodes: Joi.array().items(Joi.object().unknown()), edges: Joi.array().items(Joi.object().unknown()) }).required(),
			concurrency: Joi.number().integer().min(1).default(4),
			stops: Joi.boolean().default(false),
		}),
		async run(_input, { items, concurrency, stops }, call) {
			return { output: (await call.each(call.fill(items) as Json[], { concurrency, stopsAtFault: stops })) as Json };
		},
	};
	const ask: PipelineNode<{ message: string; timeoutMs?: number }> = {
		...common,
		name: 'ask',
		effect: 'none',
		config: Joi.object({ message: template(Joi.string().required()), timeoutMs: Joi.number() }),
		async run(_input, { message, timeoutMs }, call) {
			const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
			return { output: await call.suspend({ message: String(call.fill(message)), schema, ...(timeoutMs && { timeoutMs }) }) };
		},
	};
	const sub: PipelineNode<{ agentId: string; input: Json }> = {
		...common,
		name: 'sub',
		effect: 'none',
		uses: ({ agentId }) => [{ kind: 'agent', id: agentId, path: '/agentId' }],
		config: Joi.object({ agentId: Joi.string().required(), input: template(Joi.any()).default({}) }),
		run: async (_input, { agentId, input }, call) => ({ output: await call.run(agentId, call.fill(input)) }),
	};
	const parts: PipelineNode<{ names: string[]; once: boolean }> = {
		...common,
		name: 'parts',
		effect: 'none',
		config: Joi.object({ names: Joi.array().items(Joi.string()).required(), once: Joi.boolean().default(false) }),
		async run({ input }, { names, once }, call) {
			const tag = tagOf(input);
			for (const name of names)
				await call.step(
					name,
					async (signal) => {
						await effects.begun?.(tag, name, signal);
						await effects.ended?.(tag, name);
						return name;
					},
					{ once },
				);
			return { output: names };
		},
	};
	const talk: PipelineNode<{ providerId: string; text: string }> = {
		...common,
		name: 'talk',
		effect: 'repeatable',
		uses: ({ providerId }) => [{ kind: 'provider', id: providerId, path: '/providerId' }],
		config: Joi.object({ providerId: Joi.string().required(), text: template(Joi.string().required()) }),
		async run(_input, { providerId, text }, call) {
			let answer = '';
			for await (const chunk of call.chat(providerId, { messages: [{ role: 'user', content: String(call.fill(text)) }] }))
				if (chunk.type === 'text') answer += chunk.text;
			return { output: answer };
		},
	};
	return [start, finish, work, choose, each, ask, sub, parts, talk] as Plugin[];
}
