// Changes of a JSON Schema, judged for those who use it: arguments must not demand more than before, an answer must not give less. In
// doubt, a change is breaking.

import type { Json, JsonObject, JsonSchema } from '../../contract/nouns.ts';
import { isObject } from '../../kit/json.ts';
import { compareMeanings, definitionOf, type Steps, spend } from './meaning.ts';
import {
	added,
	compareBounds,
	compareNeed,
	compareOthers,
	compareTypes,
	compareValues,
	compareWords,
	effect,
	type Pair,
	type SchemaComparison,
	type State,
	subject,
} from './rules.ts';
import { aligned, constraintsOf, isLeftOut, shapesOf } from './shapes.ts';

/** @throws TOO_LARGE */
export function compareSchemas(before: JsonSchema, after: JsonSchema, side: State['side'], steps: Steps): SchemaComparison {
	const state: State = {
		side,
		isSame: compareMeanings(before, after, steps),
		openBefore: shapesOf(before),
		openAfter: shapesOf(after),
		met: new Map(),
		queue: [],
		steps,
		findings: [],
		movedArguments: new Set(),
		movedMembers: new Set(),
	};
	const { $defs: _before, ...old } = before;
	const { $defs: _after, ...fresh } = after;
	compare(state, old, fresh, '');
	for (let pair = state.queue[0], next = 1; pair; pair = state.queue[next++]) open(state, pair);
	const { findings, movedArguments, movedMembers } = state;
	return { findings, movedArguments, movedMembers };
}

/**
 * Queues a pair: the comparison goes level by level, so that a difference reachable in several ways is reported at the nearest location.
 */
function compare(state: State, before: Json | undefined, after: Json | undefined, path: string): void {
	spend(state.steps);
	if (!state.isSame(before ?? {}, after ?? {})) state.queue.push({ before, after, path });
}

function open(state: State, { path, ...pair }: Pair): void {
	const opened = [state.openBefore(pair.before), state.openAfter(pair.after)] as const;
	// When a limit of ours left out one side, its changes are unknown.
	if (isMet(state, ...opened) || opened.some(isLeftOut)) return;
	const [before, after] = aligned(...opened);
	compareWords(state, before, after, path);
	const [had, has] = [constraintsOf(before).length > 0, constraintsOf(after).length > 0];
	if (!had && has) effect(state, 'narrowed', `${subject(state, path)} no longer allows any value.`);
	if (had && !has) effect(state, 'widened', `${subject(state, path)} now allows any value.`);
	if (!had || !has || !compareTypes(state, before, after, path)) return;
	compareValues(state, before, after, path);
	compareBounds(state, before, after, path);
	compareMembers(state, before, after, path);
	compareOpenness(state, before, after, path);
	compareParts(state, before, after, path);
	compareOthers(state, before, after, path);
}

function isMet({ met }: State, before: object, after: object): boolean {
	const others = met.get(before);
	if (others?.has(after)) return true;
	if (others) others.add(after);
	else met.set(before, new Set([after]));
	return false;
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const membersOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

function compareMembers(state: State, before: JsonObject, after: JsonObject, path: string): void {
	const [was, is] = [membersOf(before['properties']), membersOf(after['properties'])];
	const [needed, needs] = [new Set(listOf(before['required'])), new Set(listOf(after['required']))];
	const names = new Set([...Object.keys(was), ...Object.keys(is), ...needed, ...needs].map(String));
	spend(state.steps, names.size);
	for (const name of names) {
		const at = join(path, name);
		const [had, has] = [Object.hasOwn(was, name), Object.hasOwn(is, name)];
		if (had !== has) {
			(path === '' ? state.movedArguments : state.movedMembers).add(name);
			state.findings.push(has ? added(state, at, needs.has(name)) : { kind: 'breaking', reason: `${subject(state, at)} was removed.` });
			continue;
		}
		if (had) compare(state, was[name], is[name], at);
		if (needed.has(name) !== needs.has(name)) compareNeed(state, needs.has(name), at);
	}
}

/** Compares `additionalProperties`. In an answer, undeclared members harm nobody, just as an added field does not. */
function compareOpenness(state: State, before: JsonObject, after: JsonObject, path: string): void {
	const [was, is] = [before['additionalProperties'] ?? true, after['additionalProperties'] ?? true];
	const isClosed = is === false;
	if (was !== false && is !== false) compare(state, was, is, join(path, '*'));
	if ((was === false) === isClosed) return;
	const kind = state.side === 'arguments' && isClosed ? 'breaking' : 'additive';
	state.findings.push({
		kind,
		reason: `${subject(state, path)} ${isClosed ? 'no longer takes other members' : 'takes other members now'}.`,
	});
}

/** Compares the schemas nested in keywords. */
function compareParts(state: State, before: JsonObject, after: JsonObject, path: string): void {
	for (const [key, at] of [
		['items', `${path}[]`],
		['contains', `${path}[]`],
		['propertyNames', join(path, '*')],
	] as const)
		compare(state, before[key], after[key], at);
	compareSequence(state, listOf(before['prefixItems']), listOf(after['prefixItems']), path);
	const [was, is] = [membersOf(before['patternProperties']), membersOf(after['patternProperties'])];
	for (const pattern of new Set([...Object.keys(was), ...Object.keys(is)])) {
		if (Object.hasOwn(was, pattern) && Object.hasOwn(is, pattern)) compare(state, was[pattern], is[pattern], join(path, '*'));
		else effect(state, 'other', `${subject(state, path)} has other rules for the names of its members.`);
	}
	compareLists(state, [before['allOf'], after['allOf']], 'narrowed', path);
	compareLists(state, [before['anyOf'], after['anyOf']], 'widened', path);
	compareLists(state, [before['oneOf'], after['oneOf']], 'widened', path);
}

function compareSequence(state: State, before: Json[], after: Json[], path: string): void {
	if (before.length !== after.length) effect(state, 'other', `${subject(state, path)} has another number of items.`);
	else for (const [index, schema] of before.entries()) compare(state, schema, after[index], `${path}[${index}]`);
}

/** Compares two schemas; a definition and a reference to it count as the same. */
function isSameOpened({ isSame, openBefore, openAfter }: State, before: Json, after: Json): boolean {
	return isSame(before, after) || isSame(openBefore(before), openAfter(after));
}

/** @param more the effect of one more member */
function compareLists(state: State, [one, other]: [Json | undefined, Json | undefined], more: 'narrowed' | 'widened', path: string): void {
	if (one === undefined && other === undefined) return;
	const less = more === 'widened' ? 'narrowed' : 'widened';
	// The presence of alternatives is itself one more condition.
	const isWhole = one !== undefined && other !== undefined;
	if (!isWhole) effect(state, one === undefined ? 'narrowed' : 'widened', `${subject(state, path)} is composed differently.`);
	if (!isWhole) return;
	const fresh = [...listOf(other)];
	const old = listOf(one).filter((member) => {
		spend(state.steps, fresh.length);
		const index = fresh.findIndex((candidate) => isSameOpened(state, member, candidate));
		if (index >= 0) fresh.splice(index, 1);
		return index < 0;
	});
	const rest = old.filter((member) => !compareNamesake(state, member, fresh, path));
	if (rest.length === fresh.length) {
		for (const [index, member] of rest.entries()) compare(state, member, fresh[index], path);
		return;
	}
	const change = rest.length === 0 ? more : fresh.length === 0 ? less : 'other';
	effect(state, change, `${subject(state, path)} has ${fresh.length > rest.length ? 'more' : 'fewer'} forms than before.`);
}

/**
 * Compares a reference with the one to the definition of the same name, and removes the latter from `fresh`. @returns whether there is one
 */
function compareNamesake(state: State, member: Json, fresh: Json[], path: string): boolean {
	const name = isObject(member) ? definitionOf(member['$ref']) : null;
	if (name === null) return false;
	spend(state.steps, fresh.length);
	const index = fresh.findIndex((candidate) => isObject(candidate) && definitionOf(candidate['$ref']) === name);
	if (index < 0) return false;
	compare(state, member, fresh[index], path);
	fresh.splice(index, 1);
	return true;
}
