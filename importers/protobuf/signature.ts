// What a method takes and answers, as the schemas of a tool.

import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { type CutSchema, type JsonObject, type JsonSchema, MAX_WHOLE_CHARS, type Operation } from '../../core/index.ts';
import { closeOver, type Definitions, type Limits } from './definitions.ts';
import { convertFields, convertMessageUse, described, hasOwnJson, oneofNotes, type References } from './schemas.ts';

/** Above this a model reads a schema no more. The levels are half of what the compiler of schemas gets through. */
const SHOWN: Limits = { chars: 64 * 1024, levels: 60 };
/** What is checked in a thread has eight times the stack. */
const WHOLE: Limits = { chars: MAX_WHOLE_CHARS, levels: 480 };
const ANSWER: Limits = { ...SHOWN, chars: 32 * 1024 };
/** What models' hosts take as the name of an argument. */
const ARGUMENT_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The argument that holds the request; null when the arguments are its fields. */
export type RequestArgument = 'messages' | 'request' | null;

export interface Signature extends Pick<Operation, 'parameters' | 'whole'> {
	argument: RequestArgument;
}

/** Extensions have names that cannot be those of arguments. */
function requestArgumentOf({ input, methodKind }: DescMethod, { types }: Definitions): RequestArgument {
	if (methodKind === 'client_streaming' || methodKind === 'bidi_streaming') return 'messages';
	return hasOwnJson(input) || types.extensions.has(input.typeName) ? 'request' : null;
}

export interface Asked {
	/** Names of fields that the request cannot do without, beside those that the message says. */
	required: readonly string[];
	/** Of the schema that arguments are checked against. */
	maxChars: number;
}

/** @param faults what was lost */
export function convertRequest(method: DescMethod, { required, maxChars }: Asked, known: Definitions, faults: Set<string>): Signature {
	const argument = requestArgumentOf(method, known);
	const references: References = new Set();
	const root = argument === null ? fieldsOf(method.input, known, references, faults) : wrapped(argument, method.input, references);
	const all = [...new Set([...root.required, ...required.filter((name) => Object.hasOwn(root.properties, name))])];
	const notes = argument === null ? described('', ...oneofNotes(method.input)) : {};
	const join = ({ chars, levels }: Limits): CutSchema => {
		const { definitions, left } = closeOver(references, { chars: chars - JSON.stringify(root.properties).length, levels }, 'input', known);
		const parameters: JsonSchema = { type: 'object', ...notes, properties: root.properties };
		if (all.length > 0) parameters['required'] = all;
		parameters['additionalProperties'] = false;
		if (Object.keys(definitions).length > 0) parameters['$defs'] = definitions;
		return { parameters, left };
	};
	const { parameters, left } = join(SHOWN);
	const { whole, reason } = known.wholes.settle(left, () => join({ ...WHOLE, chars: Math.min(WHOLE.chars, maxChars) }));
	if (reason !== null) faults.add(reason);
	return { argument, parameters, whole };
}

type Root = { properties: Record<string, JsonObject>; required: string[] };

function wrapped(argument: 'messages' | 'request', input: DescMessage, references: References): Root {
	const one = convertMessageUse(input, references);
	const list: JsonObject = { type: 'array', items: one, description: 'The messages that are sent, in their order' };
	return { properties: { [argument]: argument === 'messages' ? list : one }, required: [argument] };
}

/** A name that no host takes is replaced by that of the description, which is as good in JSON. */
function fieldsOf(desc: DescMessage, { types }: Definitions, references: References, faults: Set<string>): Root {
	const { properties, required } = convertFields(desc, 'input', types, references);
	const names = new Map(desc.fields.map(({ jsonName, name }) => [jsonName, ARGUMENT_NAME.test(jsonName) ? jsonName : name]));
	const root: Root = { properties: {}, required: [] };
	for (const [jsonName, schema] of Object.entries(properties)) {
		const name = names.get(jsonName) ?? jsonName;
		if (!ARGUMENT_NAME.test(name)) {
			faults.add(`its field ${JSON.stringify(jsonName.slice(0, 80))} cannot be an argument: the name is too long`);
			continue;
		}
		root.properties[name] = schema;
		if (required.includes(jsonName)) root.required.push(name);
	}
	return root;
}

/** No schema where the answer is no object, or its schema is too large, which is then said. */
export function convertAnswer({ output, methodKind }: DescMethod, known: Definitions): Pick<Operation, 'outputSchema' | 'answerCut'> {
	if (hasOwnJson(output)) return { outputSchema: null };
	const references: References = new Set();
	const isStream = methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
	const root = isStream ? streamOf(convertMessageUse(output, references)) : objectOf(output, known, references);
	const chars = ANSWER.chars - JSON.stringify(root).length;
	const { definitions, left } = closeOver(references, { ...ANSWER, chars }, 'output', known);
	if (left.length > 0 || chars < 0) return { outputSchema: null, answerCut: true };
	return { outputSchema: Object.keys(definitions).length > 0 ? { ...root, $defs: definitions } : root };
}

const objectOf = (output: DescMessage, { types }: Definitions, references: References): JsonObject => ({
	type: 'object',
	properties: convertFields(output, 'output', types, references).properties,
});

const streamOf = (items: JsonObject): JsonObject => ({
	type: 'object',
	properties: {
		messages: { type: 'array', items },
		cut: { type: 'string', description: 'Why there are no more messages here, when the stream had not ended' },
	},
	required: ['messages'],
});
