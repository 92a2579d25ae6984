// Rules for one schema by itself, without those nested in it: the meaning of a difference for those who use the schema.

import type { Json, JsonObject } from '../../contract/nouns.ts';
import { cleanText } from '../../kit/clean-text.ts';
import { BOUNDS, describeValues, type Effect, lostAndGained, showBound, showType, typesOf, valuesOf } from './keywords.ts';
import { type Steps, spend } from './meaning.ts';
import { constraintsOf, isWords } from './shapes.ts';

export type ChangeKind = 'breaking' | 'additive' | 'text';

export interface Finding {
	kind: ChangeKind;
	/** A full sentence. */
	reason: string;
}

export interface SchemaComparison {
	findings: Finding[];
	/** Names of members at the root that only one side has. */
	movedArguments: Set<string>;
	/** Names of members further down that only one side has. */
	movedMembers: Set<string>;
}

export interface Pair {
	before: Json | undefined;
	after: Json | undefined;
	/** The location, such as `body.pets[].name`. */
	path: string;
}

export interface State extends SchemaComparison {
	side: 'arguments' | 'answer';
	isSame: (before: Json, after: Json) => boolean;
	openBefore: (schema: Json | undefined) => JsonObject;
	openAfter: (schema: Json | undefined) => JsonObject;
	/** Pairs that have been visited or are being visited: recursive schemas return to them. */
	met: Map<object, Set<object>>;
	/** Pairs that are still to be compared. */
	queue: Pair[];
	steps: Steps;
}

const MAX_PATH_CHARS = 120;

/** Records a change: harmless when an argument accepts more, or an answer promises more. */
export function effect({ side, findings }: State, change: Effect, reason: string): void {
	const isHarmless = change === (side === 'arguments' ? 'widened' : 'narrowed');
	findings.push({ kind: isHarmless ? 'additive' : 'breaking', reason });
}

export function subject({ side }: State, path: string): string {
	const shown = cleanText(path, MAX_PATH_CHARS);
	if (side === 'arguments') return path === '' ? 'The list of arguments' : `The argument ${shown}`;
	return path === '' ? 'The answer' : `The field ${shown} of the answer`;
}

const changed = (state: State, path: string, what: string, was: string, is: string): string =>
	`${subject(state, path)} changed its ${what} from ${was} to ${is}.`;

export function compareWords(state: State, before: JsonObject, after: JsonObject, path: string): void {
	const words = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((key) => isWords(key) && key !== 'deprecated');
	if (words.some((key) => !state.isSame(before[key] ?? null, after[key] ?? null)))
		state.findings.push({ kind: 'text', reason: `${subject(state, path)} is described in other words.` });
	if ((before['deprecated'] === true) === (after['deprecated'] === true)) return;
	const now = after['deprecated'] === true ? 'is deprecated now' : 'is no longer deprecated';
	state.findings.push({ kind: 'additive', reason: `${subject(state, path)} ${now}.` });
}

/** @returns whether there is anything left to compare */
export function compareTypes(state: State, before: JsonObject, after: JsonObject, path: string): boolean {
	const [was, is] = [typesOf(before), typesOf(after)];
	const { lost, gained } = lostAndGained(was, is);
	if (lost.length === 0 && gained.length === 0) return true;
	const change = lost.length === 0 ? 'widened' : gained.length === 0 ? 'narrowed' : 'other';
	effect(state, change, changed(state, path, 'type', showType(before), showType(after)));
	return lost.length < was.length;
}

export function compareValues(state: State, before: JsonObject, after: JsonObject, path: string): void {
	const [was, is] = [valuesOf(before), valuesOf(after)];
	spend(state.steps, (was?.length ?? 0) + (is?.length ?? 0));
	if (!was && !is) return;
	const about = subject(state, path);
	if (was === null || is === null) {
		if (is !== null) effect(state, 'narrowed', `${about} is limited to listed values.`);
		if (was !== null) effect(state, 'widened', `${about} is no longer limited to listed values.`);
		return;
	}
	const [texts, former] = [new Set(is.map((value) => JSON.stringify(value))), new Set(was.map((value) => JSON.stringify(value)))];
	const lost = was.filter((value) => !texts.has(JSON.stringify(value)));
	const gained = is.filter((value) => !former.has(JSON.stringify(value)));
	if (lost.length > 0) effect(state, 'narrowed', `${about} lost ${describeValues(lost)}.`);
	if (gained.length > 0) effect(state, 'widened', `${about} gained ${describeValues(gained)}.`);
}

export function compareBounds(state: State, before: JsonObject, after: JsonObject, path: string): void {
	for (const bound of BOUNDS) {
		const [was, is] = [bound.read(before), bound.read(after)];
		const change = bound.compare(was, is);
		if (change !== null) effect(state, change, changed(state, path, bound.name, showBound(was), showBound(is)));
	}
}

export function added(state: State, path: string, isRequired: boolean): Finding {
	if (state.side === 'answer') return { kind: 'additive', reason: `${subject(state, path)} was added.` };
	const shown = cleanText(path, MAX_PATH_CHARS);
	return { kind: isRequired ? 'breaking' : 'additive', reason: `The ${isRequired ? 'required' : 'optional'} argument ${shown} was added.` };
}

export function compareNeed(state: State, isNeeded: boolean, path: string): void {
	const about = subject(state, path);
	const [promised, asked] = isNeeded ? ['is always there now', 'became required'] : ['may be missing now', 'is no longer required'];
	effect(state, isNeeded ? 'narrowed' : 'widened', `${about} ${state.side === 'answer' ? promised : asked}.`);
}

/** Compares the remaining keywords, unknown ones included. */
export function compareOthers(state: State, before: JsonObject, after: JsonObject, path: string): void {
	for (const key of new Set([...constraintsOf(before), ...constraintsOf(after)])) {
		if (COMPARED.has(key) || state.isSame(before[key] ?? null, after[key] ?? null)) continue;
		const [was, is] = [before[key], after[key]];
		const isRule = RULES.has(key);
		const change = isRule && was === undefined ? 'narrowed' : isRule && is === undefined ? 'widened' : 'other';
		effect(state, change, changed(state, path, key, show(was), show(is)));
	}
}

/** Keywords that admit any value when absent. */
const RULES = new Set(['format', 'pattern', 'uniqueItems', 'multipleOf', 'dependentRequired', 'not']);
const COMPARED = new Set([
	...['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'patternProperties'],
	...['items', 'contains', 'propertyNames', 'prefixItems', 'allOf', 'anyOf', 'oneOf', ...BOUNDS.flatMap(({ keywords }) => keywords)],
]);

const show = (value: Json | undefined): string => (value === undefined ? 'none' : cleanText(JSON.stringify(value), 60));
