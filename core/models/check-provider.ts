// Checks what the plugins of providers return: the chunks of an answer with what it used, lists of models, and prices.

import { PluginFault } from '../contract/errors.ts';
import type { ChatChunk, ChatEnd, ChatModel, ModelPrices } from '../contract/providers.ts';
import { isObject, measureJson } from '../kit/json.ts';
import { MAX_CHARS } from './answers.ts';

type Members = Readonly<Record<string, unknown>>;

const REASONS: readonly unknown[] = ['stop', 'length', 'tool_calls', 'content_filter'] satisfies ChatEnd['reason'][];
const MAX_MODELS = 10_000;
const PRICES = { input: true, output: true, cached: false, written: false, hour: false } satisfies Record<keyof ModelPrices, boolean>;

const isText = (value: unknown): boolean => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isAmount = (value: unknown): boolean => Number.isFinite(value) && Number(value) >= 0;

const textFault = ({ text }: Members): string | null => (isText(text) ? null : 'must have a string as text');

const FAULTS: Readonly<Record<ChatChunk['type'], (chunk: Members) => string | null>> = {
	text: textFault,
	reasoning: textFault,
	tool_call: ({ index, id = '', name = '', text }) => {
		if (!isCount(index)) return 'must have an integer of 0 or more as index';
		return isText(id) && isText(name) && isText(text) ? null : 'must have strings as text, id and name';
	},
	end: ({ reason, model, usage, kept }) => {
		if (!REASONS.includes(reason)) return `must have one of ${REASONS.join(', ')} as reason`;
		if (!isText(model)) return 'must have a string as model';
		return usageFault(usage) ?? keptFault(kept);
	},
};

/** @param plugin `kind:name`. @throws PluginFault for what is no chunk by the contract */
export function checkChunk(plugin: string, chunk: unknown): void {
	const fault = chunkFault(chunk);
	if (fault !== null) throw new PluginFault(plugin, `a chunk of chat ${fault}.`);
}

function chunkFault(chunk: unknown): string | null {
	const type = isObject(chunk) ? chunk['type'] : null;
	if (typeof type !== 'string' || !Object.hasOwn(FAULTS, type)) return `must be an object of type ${Object.keys(FAULTS).join(', ')}`;
	// It is an object, and its type is in the table.
	return FAULTS[type as ChatChunk['type']](chunk as Members);
}

function usageFault(usage: unknown): string | null {
	if (usage === null || usage === undefined) return null;
	if (!isObject(usage)) return 'must have an object or null as usage';
	const { inputTokens, outputTokens, cachedTokens, writtenTokens = 0, hourTokens = 0, costMicroUsd = null }: Members = usage;
	for (const [name, count] of Object.entries({ inputTokens, outputTokens, cachedTokens, writtenTokens, hourTokens }))
		if (!isCount(count)) return `must have an integer of 0 or more as usage.${name}`;
	return costMicroUsd === null || isAmount(costMicroUsd) ? null : 'must have a number of 0 or more, or null, as usage.costMicroUsd';
}

function keptFault(kept: unknown): string | null {
	if (kept === undefined) return null;
	const fault = isObject(kept) ? measureJson(kept, MAX_CHARS).fault : 'is no object';
	return fault === null ? null : `must have a JSON object as kept: it ${fault}`;
}

/** @param plugin `kind:name`. @throws PluginFault */
export function checkModels(plugin: string, models: unknown): ChatModel[] {
	const isModel = (model: unknown): boolean => isObject(model) && isText(model['id']) && model['id'] !== '';
	if (Array.isArray(models) && models.length <= MAX_MODELS && models.every(isModel)) return models;
	throw new PluginFault(plugin, `models must return a list of at most ${MAX_MODELS} objects, each with a string that is not empty as id.`);
}

/** Returns the prices that a plugin told; null without any. @param plugin `kind:name`. @throws PluginFault */
export function checkPrices(plugin: string, prices: unknown): ModelPrices | null {
	if (prices === null || prices === undefined) return null;
	for (const [name, isNeeded] of Object.entries(PRICES)) {
		const price = isObject(prices) ? (prices as Members)[name] : null;
		if (!isAmount(price) && (isNeeded || price !== undefined))
			throw new PluginFault(plugin, `the prices of a model must have a number of 0 or more as ${name}.`);
	}
	// All of it was checked.
	return prices as ModelPrices;
}
