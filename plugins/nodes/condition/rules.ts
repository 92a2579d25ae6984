// The closed list of operators: nothing is evaluated, values are compared.

import { isDeepStrictEqual } from 'node:util';
import { GatewayError, holds, isObject, type Json } from '../../../core/index.ts';

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

/** Whether a rule holds whose values are filled in. @throws validation_failed for values that the operator cannot compare */
export function isHeld({ operator, ignoreCase, ...given }: Rule): boolean {
	const [value, than] = [given.value, given.than ?? null].map((one) => (ignoreCase ? lowered(one) : one)) as [Json, Json];
	return CHECKS[operator](value, than);
}

const CHECKS: Record<Operator, (value: Json, than: Json) => boolean> = {
	equals: isDeepStrictEqual,
	notEquals: (value, than) => !isDeepStrictEqual(value, than),
	greaterThan: (value, than) => compared('greaterThan', value, than, (order) => order > 0),
	atLeast: (value, than) => compared('atLeast', value, than, (order) => order >= 0),
	lessThan: (value, than) => compared('lessThan', value, than, (order) => order < 0),
	atMost: (value, than) => compared('atMost', value, than, (order) => order <= 0),
	contains: (value, than) => has('contains', value, than),
	notContains: (value, than) => !has('notContains', value, than),
	startsWith: (value, than) => (value === null ? false : textIn('startsWith', value).startsWith(textIn('startsWith', than))),
	endsWith: (value, than) => (value === null ? false : textIn('endsWith', value).endsWith(textIn('endsWith', than))),
	in: (value, than) => has('in', listIn('in', than), value),
	notIn: (value, than) => !has('notIn', listIn('notIn', than), value),
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
	return typeof value === 'string' && /^\s*[+-]?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(value) ? Number(value) : null;
}

function has(operator: Operator, whole: Json, part: Json): boolean {
	if (whole === null) return false;
	const isScalar = part === null || typeof part !== 'object';
	// Most are compared with a scalar, and a deep comparison with each item of a long list takes far longer.
	if (Array.isArray(whole)) return isScalar ? whole.includes(part) : whole.some((item) => isDeepStrictEqual(item, part));
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

function lowered(value: Json): Json {
	if (typeof value === 'string') return value.toLowerCase();
	return Array.isArray(value) ? value.map(lowered) : value;
}

function unable(operator: Operator, needed: string, value: Json): GatewayError {
	const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
	return new GatewayError('validation_failed', `"${operator}" needs ${needed}, and got ${kind}.`);
}
