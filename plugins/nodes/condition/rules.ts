// The closed list of operators: nothing is evaluated, values are compared.

import { GatewayError, hasItem, holds, isObject, isSameJson, type Json, TimeSlice } from '../../../core/index.ts';

export const UNARY = ['exists', 'notExists', 'isEmpty', 'isNotEmpty', 'isTrue', 'isFalse'] as const;
export const OPERATORS = [
	...['equals', 'notEquals', 'greaterThan', 'atLeast', 'lessThan', 'atMost'],
	...['contains', 'notContains', 'startsWith', 'endsWith', 'in', 'notIn'],
	...UNARY,
] as const;
export type Operator =
	| (typeof UNARY)[number]
	| ('equals' | 'notEquals' | 'greaterThan' | 'atLeast' | 'lessThan' | 'atMost')
	| ('contains' | 'notContains' | 'startsWith' | 'endsWith' | 'in' | 'notIn');

export interface Rule {
	value: Json;
	operator: Operator;
	than?: Json;
	ignoreCase: boolean;
}

/** The most values that the rules of one run look at: some tenths of a second. */
const MAX_VALUES = 2_000_000;
const CHARS_PER_VALUE = 64;
/** A longer text is no number. */
const MAX_NUMBER_CHARS = 400;

type Count = (values: number) => void;

/** Bounds the work of all rules of one run, and lets other work run between them. */
export class Effort {
	readonly #slice = new TimeSlice();
	#left = MAX_VALUES;

	/** @param pointer the rule that is next. @returns a function that counts what it looks at, and throws validation_failed beyond the bound */
	async next(pointer: string): Promise<Count> {
		if (this.#slice.isOverNow) await this.#slice.next();
		return (values) => {
			this.#left -= values;
			if (this.#left < 0) throw tooMuch(pointer);
		};
	}
}

const tooMuch = (pointer: string): GatewayError =>
	new GatewayError(
		'validation_failed',
		`${pointer} compares too much: the rules of a node may look at ${MAX_VALUES} values in all, where ${CHARS_PER_VALUE} characters of a text count as one.`,
	);

/** Whether a rule holds whose values are filled in. @throws validation_failed for values that the operator cannot compare, or too many */
export async function isHeld({ operator, ignoreCase, ...given }: Rule, count: Count): Promise<boolean> {
	const [value, than] = [given.value, given.than ?? null].map((one) => {
		if (typeof one !== 'string') return one;
		count(one.length / CHARS_PER_VALUE);
		return ignoreCase ? one.toLowerCase() : one;
	}) as [Json, Json];
	return CHECKS[operator](value, than, { ignoreCase, count });
}

interface Comparing {
	ignoreCase: boolean;
	count: Count;
}

const CHECKS: Record<Operator, (value: Json, than: Json, comparing: Comparing) => boolean | Promise<boolean>> = {
	equals: isSameJson,
	notEquals: async (value, than, comparing) => !(await isSameJson(value, than, comparing)),
	greaterThan: (value, than) => compared('greaterThan', value, than, (order) => order > 0),
	atLeast: (value, than) => compared('atLeast', value, than, (order) => order >= 0),
	lessThan: (value, than) => compared('lessThan', value, than, (order) => order < 0),
	atMost: (value, than) => compared('atMost', value, than, (order) => order <= 0),
	contains: (value, than, comparing) => has('contains', value, than, comparing),
	notContains: async (value, than, comparing) => !(await has('notContains', value, than, comparing)),
	startsWith: (value, than) => (value === null ? false : textIn('startsWith', value).startsWith(textIn('startsWith', than))),
	endsWith: (value, than) => (value === null ? false : textIn('endsWith', value).endsWith(textIn('endsWith', than))),
	in: (value, than, comparing) => has('in', listIn('in', than), value, comparing),
	notIn: async (value, than, comparing) => !(await has('notIn', listIn('notIn', than), value, comparing)),
	exists: (value) => value !== null,
	notExists: (value) => value === null,
	isEmpty,
	isNotEmpty: (value) => !isEmpty(value),
	isTrue: (value) => value === true,
	isFalse: (value) => value === false,
};

/** A value that is not there is neither greater nor less than another. */
function compared(operator: Operator, value: Json, than: Json, suits: (order: number) => boolean): boolean {
	if (value === null || than === null) return false;
	if (typeof value === 'string' && typeof than === 'string') return suits(value < than ? -1 : value > than ? 1 : 0);
	const [one, other] = [numberOf(value), numberOf(than)];
	if (one === null || other === null) throw unable(operator, 'two numbers, or two texts', one === null ? value : than);
	return suits(one - other);
}

/** A number that a model wrote is often a text. */
function numberOf(value: Json): number | null {
	if (typeof value === 'number') return value;
	return typeof value === 'string' && value.length <= MAX_NUMBER_CHARS && /^\s*[+-]?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(value)
		? Number(value)
		: null;
}

function has(operator: Operator, whole: Json, part: Json, comparing: Comparing): boolean | Promise<boolean> {
	if (whole === null) return false;
	if (Array.isArray(whole)) return hasItem(whole, part, comparing);
	if (typeof whole !== 'string') throw unable(operator, 'a text or a list', whole);
	return holds(whole, textIn(operator, part));
}

/** Numbers and truth values are compared as they are written. */
function textIn(operator: Operator, value: Json): string {
	if (value === null || typeof value === 'object') throw unable(operator, 'a text', value);
	return String(value);
}

function listIn(operator: Operator, value: Json): Json[] {
	if (!Array.isArray(value)) throw unable(operator, 'a list in "than"', value);
	return value;
}

function isEmpty(value: Json): boolean {
	if (Array.isArray(value)) return value.length === 0;
	return value === null || value === '' || (isObject(value) && Object.keys(value).length === 0);
}

function unable(operator: Operator, needed: string, value: Json): GatewayError {
	const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
	return new GatewayError('validation_failed', `"${operator}" needs ${needed}, and got ${kind}.`);
}
