// Describes a message as the arguments of a tool, or its answer: a plain object, with only the definitions that it needs.

import { createHash } from 'node:crypto';
import { type CutSchema, type JsonObject, type JsonSchema, MAX_WHOLE_CHARS, type Operation, type WholeSchemas } from '../../core/index.ts';
import { type Closures, charsOf, faultOfUnmodelled, type Limits } from './closure.ts';
import type { Message } from './messages.ts';
import type { Mode, Schemas, Written } from './schemas.ts';
import type { Definition } from './xsd/types.ts';

/** A model does not read a schema larger than this. The levels are half of those that the compiler of schemas can handle. */
const SHOWN: Limits = { chars: 64 * 1024, levels: 60 };
/** Limits of the whole schema, which is checked in a thread with eight times the stack. */
const WHOLE: Limits = { chars: MAX_WHOLE_CHARS, levels: 480 };
const ANSWER: Limits = { ...SHOWN, chars: 32 * 1024 };
/** Longest name of an argument that models accept. */
const MAX_NAME_CHARS = 64;
const HEADER = 'header';
const VALUE = 'value';

export interface Signature extends Pick<Operation, 'parameters' | 'whole'> {
	/** Members of the message, by the arguments that have another name. */
	renamed: JsonObject;
	/** The argument that holds the header. */
	headerArgument: string | null;
	faults: Set<string>;
}

interface SignatureContext {
	schemas: Schemas;
	closures: Closures;
	wholes: WholeSchemas;
	/** Definitions that the executor's model leaves out. */
	left: ReadonlySet<Definition>;
}

export function parametersOf(message: Message, { schemas, closures, wholes, left }: SignatureContext): Signature | { skip: string } {
	const faults = new Set<string>();
	const root = rootOf(message, 'request', schemas);
	// The schema of arguments is an object with properties.
	const members = root.schema['properties'] as JsonObject;
	const header = message.header && schemas.of(message.header, 'request', true);
	const names = nameArguments(Object.keys(members));
	const headerArgument = header ? unused(HEADER, new Set(names.values())) : null;
	const properties: JsonObject = Object.fromEntries(Object.entries(members).map(([key, schema]) => [names.get(key) ?? key, schema]));
	if (header && headerArgument !== null) properties[headerArgument] = { ...header.schema, description: 'Headers of the message.' };
	const ownChars = charsOf(properties);
	if (ownChars === Number.POSITIVE_INFINITY) return { skip: 'its arguments take more than a million characters to describe' };
	const references = [...root.references, ...(header?.references ?? [])];
	const { required, ...rest } = root.schema;
	const join = ({ chars, levels }: Limits): CutSchema => {
		const within = { chars: chars - ownChars, levels };
		const closure = closures.schemas(references, 'request', within, left);
		if (closure.unmodelled.length > 0) faults.add(faultOfUnmodelled(closure.unmodelled));
		const parameters: JsonSchema = {
			...rest,
			properties,
			...(Array.isArray(required) ? { required: required.map((key) => names.get(String(key)) ?? key) } : {}),
			...(Object.keys(closure.definitions).length > 0 ? { $defs: closure.definitions } : {}),
		};
		return { parameters, left: closure.left.map(({ id }) => id) };
	};
	const { parameters, left: cut } = join(SHOWN);
	const { whole, reason } = wholes.settle(cut, () => join(WHOLE));
	if (reason !== null) faults.add(reason);
	const renamed = Object.fromEntries([...names].filter(([key, name]) => key !== name).map(([key, name]) => [name, key]));
	return { parameters, whole, renamed, headerArgument, faults };
}

/** Describes the answer, or reports that its schema is too large. @param headerKey the result's member for headers, if there are any */
export function answerOf(
	message: Message,
	headerKey: string | null,
	{ schemas, closures, left }: SignatureContext,
): Pick<Operation, 'outputSchema' | 'answerCut'> {
	const root = rootOf(message, 'response', schemas);
	const header = message.header && schemas.of(message.header, 'response', true);
	// The schema is an object with properties, like that of arguments.
	const properties = {
		...(root.schema['properties'] as JsonObject),
		...(header && headerKey !== null ? { [headerKey]: header.schema } : {}),
	};
	const chars = ANSWER.chars - charsOf(properties);
	const closure = closures.schemas([...root.references, ...(header?.references ?? [])], 'response', { ...ANSWER, chars }, left);
	if (chars < 0 || closure.left.length + closure.unmodelled.length > 0) return { outputSchema: null, answerCut: true };
	const $defs = Object.keys(closure.definitions).length > 0 ? { $defs: closure.definitions } : {};
	return { outputSchema: { type: 'object', properties, ...$defs } };
}

/** Returns a key for the header that no member of the message has. */
export function headerKeyOf(message: Message, schemas: Schemas): string | null {
	if (!message.header) return null;
	return unused(HEADER, new Set(Object.keys(rootOf(message, 'response', schemas).schema['properties'] as JsonObject)));
}

function rootOf(message: Message, mode: Mode, schemas: Schemas): Written {
	if (message.root !== 'value') return schemas.of(message.definition, mode, true);
	const { element } = message;
	const { schema, references } = schemas.element({ element, min: 1, max: 1 }, element.name.local, mode);
	const isRequired = mode === 'request' && Object.keys(schema).length > 0;
	return {
		schema: { type: 'object', properties: { [VALUE]: schema }, ...(isRequired ? { required: [VALUE] } : {}), additionalProperties: false },
		references,
	};
}

/** Names the arguments: models and their vendors accept Latin letters, digits, `_`, `.` and `-`. */
function nameArguments(keys: string[]): Map<string, string> {
	const names = new Map<string, string>();
	const taken = new Set(keys);
	for (const key of keys) {
		const safe = key.replace(/^[@$]/, '').replace(/[^A-Za-z0-9_.-]/g, '_');
		if (safe === key && key.length <= MAX_NAME_CHARS) {
			names.set(key, key);
			continue;
		}
		const short =
			safe.length <= MAX_NAME_CHARS
				? safe
				: `${safe.slice(0, MAX_NAME_CHARS - 9)}_${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
		const name = unused(short, taken);
		taken.add(name);
		names.set(key, name);
	}
	return names;
}

function unused(name: string, taken: ReadonlySet<string>): string {
	let free = name;
	for (let count = 2; taken.has(free); count++) free = `${name.slice(0, MAX_NAME_CHARS - 4)}_${count}`;
	return free;
}
