// The contract of every pipeline node. A new node joins by a `contract.test.ts` beside it that provides a fixture.

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type {
	Call,
	ChatChunk,
	ItemResult,
	Json,
	JsonObject,
	NodeCall,
	NodeEffect,
	NodeGraph,
	NodeInput,
	NodeOutput,
	NodeSaveContext,
	PipelineNode,
	RunResult,
	Tool,
} from '../core/index.ts';
import { assertHidden, isSecretive, plantedFor } from './canary.ts';
import { type LogLine, logInto } from './collected-log.ts';
import { type ConfigSamples, describeManifest, frozen, operatorFor } from './config.ts';
import { loopbackCall } from './fake-call.ts';
import { sampleTool } from './samples.ts';
import { lentBy, saving, SILENT as silent } from './waiting.ts';

/** One node of a graph, and what it has to make of an input. */
export interface NodeSample {
	/** Completes “with …”. */
	name: string;
	/** @param origin of the fixture's server, empty without one */
	config(origin: string): JsonObject;
	effect: NodeEffect;
	input: NodeInput;
	/** The values of placeholders, by their text: `{{input.text}}`. */
	values?: Readonly<Record<string, Json>>;
	/** The answer to `call.suspend`; absent for a node that does not suspend. */
	agreed?: Json;
	/** The output of every agent and the answer of every tool that it runs, the chunks of every chat, and the results of items (default: the items themselves). */
	results?: { run?: Json; tool?: Json; chat?: readonly ChatChunk[]; each?: readonly ItemResult[] };
	/** The tool that its toolbox has. */
	tool?: Partial<Tool>;
	expected: NodeOutput;
}

export interface NodeOptions extends Omit<ConfigSamples, 'good'> {
	/** Starts the server that the samples call; absent when they call none. */
	start?(t: TestContext): Promise<{ origin: string; connections(): number }>;
	samples: readonly NodeSample[];
	/** Graphs around a node whose `check` finds faults, each with the pointers that it names. */
	wrong?: readonly { config: JsonObject; graph: NodeGraph; paths: readonly string[] }[];
	/** The operator's configuration. */
	operator?: JsonObject;
}

const EFFECTS: readonly NodeEffect[] = ['none', 'repeatable', 'once'];
const AT_ONCE = 20;

type NodeFixture = NodeOptions & { node: PipelineNode };

/** Registers the tests that hold a node to its contract. */
export function nodeContract(node: PipelineNode, options: NodeOptions): void {
	const fixture: NodeFixture = { node, ...options };
	const { samples } = fixture;
	const [first = assert.fail('a node has a sample')] = samples;

	describe(`${node.name} keeps the nodes’ contract`, () => {
		describeManifest(node, { good: first.config('https://api.example.com'), bad: fixture.bad });

		test('its config leaves `policy` to core', () => {
			assert.ok(!('policy' in (node.config.describe() as { keys: object }).keys));
		});

		for (const sample of samples) describe(`with ${sample.name}`, () => describeSample(fixture, sample));

		if (isSecretive(node)) test('a secret of the config is in no output, fault, error or line of the log', (t) => assertKept(fixture, t));

		for (const [at, { config, graph, paths }] of (fixture.wrong ?? []).entries())
			test(`the faults of graph ${at} are found all at once, each with a pointer into its config`, async () => {
				const faults = (await node.check?.(parse(node, config), graph, savingNode(fixture))) ?? [];
				assert.deepEqual(
					faults.map(({ path }) => path),
					paths,
				);
				for (const { path, message } of faults) {
					assert.notEqual(valueAt(config, path), undefined, path);
					assert.match(message, /^[A-Z].*\.$/);
				}
			});
	});
}

function describeSample(fixture: NodeFixture, sample: NodeSample): void {
	const { node, start } = fixture;
	const operator = operatorFor(node, fixture.operator);
	/** Runs the node as core does: again from the beginning once somebody has answered. */
	const run = async (t: TestContext, origin: string, options: CallOptions = {}): Promise<NodeOutput> => {
		const config = frozen(parse(node, sample.config(origin)));
		try {
			return await node.run(frozen(sample.input), config, lend(t, sample, { ...options, operator }));
		} catch (error) {
			if (!(error instanceof Suspended)) throw error;
			return node.run(frozen(sample.input), config, lend(t, sample, { ...options, operator, answered: true }));
		}
	};
	const begin = async (t: TestContext) => (await start?.(t)) ?? { origin: '', connections: () => 0 };

	test('its effect and its ways out follow from the config alone', () => {
		const config = frozen(parse(node, sample.config('https://api.example.com')));
		assert.ok(EFFECTS.includes(sample.effect));
		for (let time = 0; time < 2; time++) assert.equal(effectOf(node, config), sample.effect);
		const ports = portsOf(node, config);
		assert.deepEqual(portsOf(node, config), ports);
		if (ports) assert.ok(ports.length > 0 && new Set(ports).size === ports.length);
	});

	test('it gives its output, as JSON, by one of its ways out, and leaves input and config as they were', async (t) => {
		const { origin } = await begin(t);
		const done = await run(t, origin);
		assert.deepEqual(done, sample.expected);
		assert.deepEqual(JSON.parse(JSON.stringify(done.output)), done.output);
		const ports = portsOf(node, parse(node, sample.config(origin)));
		assert.equal(done.port !== undefined, ports !== undefined);
		if (ports) assert.ok(ports.includes(done.port ?? ''), done.port);
	});

	test(`${AT_ONCE} runs at once do not mix`, async (t) => {
		const { origin } = await begin(t);
		const done = await Promise.all(Array.from({ length: AT_ONCE }, () => run(t, origin)));
		for (const one of done) assert.deepEqual(one, sample.expected);
	});

	if (sample.effect === 'none')
		test('it touches nothing, since it says that it has no effect', async (t) => {
			await run(t, (await begin(t)).origin, { sealed: true });
		});

	if (sample.agreed !== undefined)
		test('it suspends before it does anything else', async (t) => {
			const { origin, connections } = await begin(t);
			const config = parse(node, sample.config(origin));
			await assert.rejects(node.run(sample.input, config, lend(t, sample, { operator, sealed: true })), Suspended);
			assert.equal(connections(), 0);
		});

	if (start)
		test('it ends with its signal', async (t) => {
			const { origin, connections } = await begin(t);
			const signal = AbortSignal.abort(new Error('cancelled'));
			await assert.rejects(run(t, origin, { signal }));
			assert.equal(connections(), 0);
		});

	if (node.check)
		test('a graph around it that is right has no fault', async () => {
			const config = parse(node, sample.config('https://api.example.com'));
			const edges = (portsOf(node, config) ?? [null]).map((port) => ({
				...{ source: 'it', target: 'after' },
				...(port !== null && { sourceHandle: port }),
			}));
			const graph = {
				nodeId: 'it',
				nodes: [
					{ id: 'it', type: node.name },
					{ id: 'after', type: 'output' },
				],
				edges,
				ancestors: [],
			};
			assert.deepEqual(await node.check?.(config, graph, savingNode(fixture)), []);
		});
}

/** Runs every sample with canaries in its config; together they hold each secret of the schema. */
async function assertKept({ node, start, samples, operator: own }: NodeFixture, t: TestContext): Promise<void> {
	const origin = (await start?.(t))?.origin ?? 'https://api.example.com';
	const configs = samples.map(({ config }) => config(origin));
	for (const [at, { config, operator, texts }] of (await plantedFor(node, configs, own)).entries()) {
		const sample = samples[at] ?? assert.fail();
		const lines: LogLine[] = [];
		const given = { operator: operatorFor(node, operator), answered: true };
		const call = lentBy(lend(t, sample, given), { log: logInto(lines) }) as NodeCall;
		const graph = { nodeId: 'it', nodes: [{ id: 'it', type: node.name }], edges: [], ancestors: [] };
		for (const work of [
			async () => node.run(sample.input, parse(node, config), call),
			async () => node.check?.(parse(node, config), graph, savingNode({ node, operator })),
		]) {
			const [seen] = await Promise.allSettled([work()]);
			assertHidden(seen.status === 'fulfilled' ? 'the output' : 'the error', seen, texts);
		}
		assertHidden('the log', lines, texts);
	}
}

interface CallOptions {
	signal?: AbortSignal;
	/** Every use of the call throws, except of `fill` and `suspend`. */
	sealed?: boolean;
	/** `suspend` returns the answer. */
	answered?: boolean;
	/** The operator's configuration, parsed. */
	operator?: unknown;
}

/** The end of a run that waits for an answer. */
class Suspended extends Error {}

/** The context in which every tool of a config passes. */
const savingNode = ({ node, operator }: { node: PipelineNode; operator?: JsonObject | undefined }): NodeSaveContext => ({
	...saving(),
	operator: operatorFor(node, operator),
	toolFaults: async () => [],
});

/** A tool's answer that is JSON. */
const resultOf = (structured: Json): RunResult => ({ content: [{ type: 'text', text: JSON.stringify(structured) }], structured });

function lend(t: TestContext, sample: NodeSample, { signal, sealed, answered, operator }: CallOptions): NodeCall {
	const { values = {}, agreed, results = {}, tool } = sample;
	const given = loopbackCall(t, signal ? { signal } : {});
	let steps = 0;
	const parts: Partial<NodeCall> = {
		fill: (template) => fill(template, values),
		async suspend() {
			if (answered && agreed !== undefined) return agreed;
			throw new Suspended();
		},
	};
	const others: Partial<NodeCall> = {
		execute: async () => resultOf(results.tool ?? null),
		invoke: async () => resultOf(results.tool ?? null),
		async *chat() {
			yield* results.chat ?? [];
		},
	};
	// They keep by themselves what they do.
	const kept: Partial<NodeCall> = {
		run: async () => results.run ?? null,
		async step(_key, work) {
			steps += 1;
			try {
				return await work(given.signal);
			} finally {
				steps -= 1;
			}
		},
		toolbox: async () => ({
			list: tool ? [sampleTool(tool)] : [],
			invoke: async () => (sealed && steps === 0 ? assert.fail('it used a tool') : resultOf(results.tool ?? null)),
		}),
		each: async (items) => [...(results.each ?? items.map((item) => ({ ok: item })))],
	};
	const open = lentBy(given, others) as Call & Record<string, (...args: unknown[]) => unknown>;
	// A step keeps by itself what its work does.
	const untouched =
		(name: string) =>
		(...args: unknown[]): unknown =>
			steps > 0 ? open[name]?.(...args) : assert.fail(`it used ${name}`);
	const names = [...Object.keys(given), ...Object.keys(others)].filter((name) => name !== 'signal');
	const closed = sealed ? Object.fromEntries(names.map((name) => [name, untouched(name)])) : {};
	return lentBy(given, { ...others, log: silent, progress: () => undefined, ...kept, ...closed, operator, ...parts }) as NodeCall;
}

/** Fills placeholders that are whole texts, as far as the samples have them. */
function fill(template: Json, values: Readonly<Record<string, Json>>): Json {
	if (typeof template === 'string') return Object.hasOwn(values, template) ? (values[template] as Json) : template;
	if (Array.isArray(template)) return template.map((item) => fill(item, values));
	if (template === null || typeof template !== 'object') return template;
	return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, fill(value, values)]));
}

const parse = (node: PipelineNode, config: JsonObject): unknown => {
	const { value, error } = node.config.validate(config);
	if (error) throw error;
	return value;
};

const effectOf = ({ effect }: PipelineNode, config: unknown): NodeEffect => (typeof effect === 'function' ? effect(config) : effect);

const portsOf = ({ ports }: PipelineNode, config: unknown): readonly string[] | undefined =>
	typeof ports === 'function' ? ports(config) : ports;

/** Returns the value at a JSON pointer. */
const valueAt = (value: unknown, pointer: string): unknown =>
	pointer
		.split('/')
		.slice(1)
		.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], value);
