// Makes the schemas of a tool from a method's request and answer.

import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { type CutSchema, type JsonObject, type JsonSchema, MAX_WHOLE_CHARS, type Operation } from '../../core/index.ts';
import type { GrpcConfig } from '../../plugins/executors/grpc/config.ts';
import { type CutAnswer, closeOver, type Definitions, type Limits } from './definitions.ts';
import { convertFields, convertMessageUse, described, hasOwnJson, oneofNotes, type References } from './schemas.ts';

/** A model does not read a schema larger than this. The levels are half of those that the compiler of schemas can handle. */
const SHOWN: Limits = { chars: 64 * 1024, levels: 60 };
/** Limits of the whole schema, which is checked in a thread with eight times the stack. */
const WHOLE: Limits = { chars: MAX_WHOLE_CHARS, levels: 480 };
const ANSWER: Limits = { ...SHOWN, chars: 32 * 1024 };
/** Names of arguments that the hosts of models accept. */
const ARGUMENT_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The argument that holds the request; null when the arguments are its fields. */
export type RequestArgument = NonNullable<GrpcConfig['argument']> | null;

export interface Signature extends Pick<Operation, 'parameters' | 'whole'> {
	argument: RequestArgument;
}

/** Returns the argument of a request. One with extensions needs its own, since their names cannot be those of arguments. */
function requestArgumentOf({ input, methodKind }: DescMethod, { types }: Definitions): RequestArgument {
	if (methodKind === 'client_streaming' || methodKind === 'bidi_streaming') return 'messages';
	return hasOwnJson(input) || types.extensions.has(input.typeName) ? 'request' : null;
}

export interface SignatureOptions {
	/** Names of fields that are required in addition to those that the message requires. */
	required: readonly string[];
	/** Limit of the schema that arguments are checked against. */
	maxChars: number;
}

/** @param faults collects what was lost */
export function convertRequest(
	method: DescMethod,
	{ required, maxChars }: SignatureOptions,
	known: Definitions,
	faults: Set<string>,
): Signature {
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

/** Returns the fields as arguments. A JSON name that hosts do not accept is replaced by the field's own name, which JSON accepts, too. */
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

/** Makes the answer's schema; none if the answer is not an object, or if its schema is too large, which is then reported. */
export function convertAnswer({ output, methodKind }: DescMethod, known: Definitions): CutAnswer {
	if (hasOwnJson(output)) return { outputSchema: null };
	const isStream = methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
	const key = `${isStream ? 'stream ' : ''}${output.typeName}`;
	const before = known.answers.get(key);
	if (before) return before;
	const answer = makeAnswer(output, isStream, known);
	known.answers.set(key, answer);
	return answer;
}

function makeAnswer(output: DescMessage, isStream: boolean, known: Definitions): CutAnswer {
	const references: References = new Set();
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
		cut: { type: 'string', description: 'Why there are no more messages, if the stream had not ended' },
	},
	required: ['messages'],
});
