// Asks the types of nodes about a config, and checks what they say: a fault is told under the name of the plugin, not of whoever asks.

import { type ErrorDetail, PluginFault } from '../contract/errors.ts';
import type { NodeBody, NodeEffect, NodeGraph, NodeReference, NodeSaveContext, PipelineNode } from '../contract/nodes.ts';
import type { Json, JsonSchema } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { answerOf, HOOK_MS, type Hook, resultOf } from '../process/hooks.ts';

const EFFECTS = ['none', 'repeatable', 'once'] as const satisfies readonly NodeEffect[];
const REFERENCES = ['tool', 'gateway', 'agent', 'provider'] as const satisfies readonly NodeReference['kind'][];
/** The time of the check of a node: it may wait for that of an executor, which is to be named then. */
const CHECK_MS = HOOK_MS + 5000;

type Is = (value: unknown) => boolean;

const isText: Is = (value) => typeof value === 'string';
const isPointer: Is = (value) => value === '' || (isText(value) && String(value).startsWith('/'));
const isRecord: Is = (value) => isObject(value) && !((value as unknown) instanceof Promise);
const areAll =
	(is: Is): Is =>
	(value) =>
		Array.isArray(value) && value.every(is);
const areNames: Is = (value) =>
	Array.isArray(value) && value.length > 0 && value.every((one) => isText(one) && one !== '') && new Set(value).size === value.length;
const isReference: Is = (value) =>
	isObject(value) && REFERENCES.some((kind) => kind === value['kind']) && isText(value['id']) && isPointer(value['path']);
const isNode: Is = (value) => isObject(value) && isText(value['id']) && isText(value['type']);
const isEdge: Is = (value) => isObject(value) && isText(value['source']) && isText(value['target']);
const isBody: Is = (value) =>
	isObject(value) && isPointer(value['path']) && areAll(isNode)(value['nodes']) && areAll(isEdge)(value['edges']);
const isFault: Is = (value) => isObject(value) && isPointer(value['path']) && isText(value['message']);

const hookOf = ({ name }: PipelineNode, hook: string): Hook => ({ plugin: `node:${name}`, hook });

/** @param expected the end of the sentence "… must return" */
function checked<T>({ plugin, hook }: Hook, value: unknown, [is, expected]: readonly [is: Is, expected: string]): T {
	if (!is(value)) throw new PluginFault(plugin, `${hook} must return ${expected}.`);
	// It was just checked.
	return value as T;
}

/** @throws PluginFault, as all functions of this file do */
export function effectOf(plugin: PipelineNode, config: unknown): NodeEffect {
	const { effect } = plugin;
	const hook = hookOf(plugin, 'effect');
	const value = typeof effect === 'function' ? resultOf(hook, () => effect(config)) : effect;
	return checked(hook, value, [(one) => EFFECTS.some((known) => known === one), `one of ${EFFECTS.join(', ')}`]);
}

/** Returns the names of a node's ways out; null: it has one, without a name. */
export function portsOf(plugin: PipelineNode, config: unknown): readonly string[] | null {
	const { ports } = plugin;
	const hook = hookOf(plugin, 'ports');
	const value = typeof ports === 'function' ? resultOf(hook, () => ports(config)) : ports;
	return value === undefined || value === null
		? null
		: checked(hook, value, [areNames, 'undefined, or a list of one or more different names']);
}

export function usesOf(plugin: PipelineNode, config: unknown): readonly NodeReference[] {
	const hook = hookOf(plugin, 'uses');
	const value = resultOf(hook, () => plugin.uses?.(config)) ?? [];
	return checked(hook, value, [
		areAll(isReference),
		`a list of objects with one of ${REFERENCES.join(', ')} as kind, a string as id, and a JSON pointer as path`,
	]);
}

export function nodeBodyOf(plugin: PipelineNode, config: unknown): NodeBody | null {
	const hook = hookOf(plugin, 'body');
	const value = resultOf(hook, () => plugin.body?.(config)) ?? null;
	return value === null ? null : checked(hook, value, [isBody, 'null, or a JSON pointer as path, with lists of nodes and of edges']);
}

/** Returns the schema of the run's input; null where the node says none. */
export function inputSchemaBy(plugin: PipelineNode, config: unknown): JsonSchema | null {
	const hook = hookOf(plugin, 'inputSchema');
	const value = plugin.inputSchema && resultOf(hook, () => plugin.inputSchema?.(config));
	return plugin.inputSchema ? checked(hook, value, [isRecord, 'a JSON Schema, which is an object']) : null;
}

/** Returns the template of the output; undefined: the node passes on what came before. */
export const templateOf = (plugin: PipelineNode, config: unknown): Json | undefined =>
	resultOf(hookOf(plugin, 'template'), () => plugin.template?.(config));

/** Whether the output of a node is the text of its last answer of a model. */
export const saysOf = (plugin: PipelineNode, config: unknown): boolean =>
	checked(hookOf(plugin, 'says'), resultOf(hookOf(plugin, 'says'), () => plugin.says?.(config)) ?? false, [
		(value) => typeof value === 'boolean',
		'a boolean',
	]);

/** Returns the faults that the node itself finds. @throws what it refuses with */
export async function faultsBy(
	plugin: PipelineNode,
	config: unknown,
	{ graph, context }: { graph: NodeGraph; context: NodeSaveContext },
): Promise<ErrorDetail[]> {
	const hook = hookOf(plugin, 'check');
	const answer: unknown = await answerOf(hook, () => plugin.check?.(config, graph, context), CHECK_MS);
	return checked(hook, answer ?? [], [areAll(isFault), 'a list of faults, each with a JSON pointer as path and a sentence as message']);
}
