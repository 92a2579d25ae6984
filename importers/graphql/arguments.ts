// The arguments of a field as one JSON Schema with the definitions it reaches, and as the variables of a document.

import { createHash } from 'node:crypto';
import {
	type GraphQLArgument,
	type GraphQLEnumType,
	type GraphQLInputObjectType,
	isEnumType,
	isInputType,
	isNonNullType,
	isRequiredArgument,
} from 'graphql';
import {
	type CutSchema,
	type JsonObject,
	type JsonSchema,
	LEFT_OUT,
	MAX_WHOLE_CHARS,
	type Operation,
	quote,
	WholeSchemas,
} from '../../core/index.ts';
import { SELECT } from './config.ts';
import { convertDefinition, convertType, describe, filesOf, isFile, isImpossible, type References } from './inputs.ts';

/** The longest name of an argument for models; longer ones are shortened, and the document maps them back. */
const MAX_NAME_CHARS = 64;
/** The most fields that one sentence names. */
const MAX_NAMED = 5;
interface Limits {
	chars: number;
	/** The longest chain of definitions that refer to each other. */
	levels: number;
}

/** The limits of what models are shown. The schema compiler manages twice as many levels. */
const SHOWN: Limits = { chars: 64 * 1024, levels: 60 };
/** The limits of what is checked in a thread, which has eight times the stack. */
const WHOLE: Limits = { chars: MAX_WHOLE_CHARS, levels: 480 };

export interface Variable {
	/** Name of the tool's argument and of the document's variable. */
	name: string;
	/** Name of the field's argument. */
	argument: string;
	/** The type in SDL, such as `[ID!]!`. */
	type: string;
}

export interface Signature extends Pick<Operation, 'parameters' | 'whole'> {
	variables: Variable[];
	/** The tool takes a selection as well. */
	selects: boolean;
}

interface Definition {
	schema: JsonObject;
	references: References;
	sizeBytes: number;
	/** The fields that take files, as `Type.field`. */
	files: string[];
}

/** The state that all operations of one schema share. */
export interface Inputs {
	definitions: Map<GraphQLInputObjectType | GraphQLEnumType, Definition>;
	impossible: Map<GraphQLInputObjectType, boolean>;
	wholes: WholeSchemas;
}

export const createInputs = (): Inputs => ({ definitions: new Map(), impossible: new Map(), wholes: new WholeSchemas() });

/** Tells why no value can satisfy the argument; null when one can. */
export function argumentFault({ name, type }: GraphQLArgument, { impossible }: Inputs): string | null {
	if (!isInputType(type)) return `its argument ${quote(name)} has a type that cannot be sent`;
	if (!isImpossible(type, impossible)) return null;
	if (isFile(type)) return `its argument ${quote(name)} is a file (Upload), and tools send none`;
	return `its argument ${quote(name)} requires an input object that requires itself or a file (Upload)`;
}

/** @param selectable whether the answer has fields to choose from. @param faults collects the losses */
export function convertArguments(all: readonly GraphQLArgument[], selectable: boolean, inputs: Inputs, faults: Set<string>): Signature {
	const args = all.filter(({ type }) => !isFile(type));
	const references: References = new Set();
	const names = shortNames(args);
	const members = args.map((arg, index) => ({ name: names[index] ?? arg.name, arg, schema: convertArgument(arg, references) }));
	const selects = selectable && !names.includes(SELECT);
	const properties = Object.fromEntries(members.map(({ name, schema }) => [name, schema]));
	if (selects) properties[SELECT] = SELECTION;
	const required = members.filter(({ arg }) => isRequiredArgument(arg)).map(({ name }) => name);
	const unsent = all.filter(({ type }) => isFile(type)).map(({ name }) => name);
	const join = ({ chars, levels }: Limits): CutSchema & { files: string[] } => {
		const { definitions, left, files } = closeOver(references, { chars: chars - JSON.stringify(properties).length, levels }, inputs);
		const parameters: JsonSchema = { type: 'object', properties };
		if (required.length > 0) parameters['required'] = required;
		parameters['additionalProperties'] = false;
		if (Object.keys(definitions).length > 0) parameters['$defs'] = definitions;
		return { parameters, left, files: [...unsent, ...files] };
	};
	const { parameters, left, files } = join(SHOWN);
	if (files.length > 0) faults.add(`what takes a file (Upload) is left out: ${quote(files.slice(0, MAX_NAMED).join(', '))}`);
	const { whole, reason } = inputs.wholes.settle(left, () => join(WHOLE));
	if (reason !== null) faults.add(reason);
	return {
		parameters,
		whole,
		variables: members.map(({ name, arg }) => ({ name, argument: arg.name, type: variableType(arg) })),
		selects,
	};
}

const SELECTION: JsonObject = {
	type: 'string',
	maxLength: 16_384,
	description: 'Optional: which fields to answer with, as a GraphQL selection such as "id owner { login }", in place of the usual ones.',
};

function convertArgument(arg: GraphQLArgument, references: References): JsonObject {
	const deprecated = arg.deprecationReason == null ? {} : { deprecated: true };
	return { ...convertType(arg.type, references), ...describe(arg.description, arg), ...deprecated };
}

/** §5.8.5: a variable that may be left out can stand where a default is, also if null cannot. */
function variableType({ type, defaultValue }: GraphQLArgument): string {
	return String(isNonNullType(type) && defaultValue !== undefined ? type.ofType : type);
}

function shortNames(args: readonly GraphQLArgument[]): string[] {
	return args.map(({ name }) => {
		if (name.length <= MAX_NAME_CHARS) return name;
		const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
		return `${name.slice(0, MAX_NAME_CHARS - 9)}_${hash}`;
	});
}

/** Collects every definition that is reached, within the limits, and the fields of all that take files. */
function closeOver(references: References, limits: Limits, inputs: Inputs): { definitions: JsonObject; left: string[]; files: string[] } {
	const { kept, files } = nearest(references, limits.chars, inputs);
	const definitions: JsonObject = {};
	const left: string[] = [];
	// The order is the compiler's, which overflows on long chains of definitions.
	const add = (type: GraphQLInputObjectType | GraphQLEnumType, level: number): void => {
		if (Object.hasOwn(definitions, type.name)) return;
		const definition = level < limits.levels ? kept.get(type) : undefined;
		if (!definition) left.push(type.name);
		definitions[type.name] = definition?.schema ?? { type: isEnumType(type) ? 'string' : 'object', description: LEFT_OUT };
		for (const next of definition?.references ?? []) add(next, level + 1);
	};
	for (const type of references) add(type, 0);
	return { definitions, left, files };
}

/** Chooses the definitions that fit, the nearest first. */
function nearest(
	references: References,
	maxBytes: number,
	inputs: Inputs,
): { kept: Map<GraphQLInputObjectType | GraphQLEnumType, Definition>; files: string[] } {
	const files: string[] = [];
	const kept = new Map<GraphQLInputObjectType | GraphQLEnumType, Definition>();
	const reached = new Set(references);
	let sizeBytes = 0;
	// A set that grows while it is walked is walked to its end.
	for (const type of reached) {
		const definition = definitionOf(type, inputs);
		files.push(...definition.files);
		if (sizeBytes + definition.sizeBytes > maxBytes) continue;
		sizeBytes += definition.sizeBytes;
		kept.set(type, definition);
		for (const next of definition.references) reached.add(next);
	}
	return { kept, files };
}

function definitionOf(type: GraphQLInputObjectType | GraphQLEnumType, { definitions }: Inputs): Definition {
	const known = definitions.get(type);
	if (known) return known;
	const references: References = new Set();
	const schema = convertDefinition(type, references);
	const sizeBytes = JSON.stringify(schema).length + type.name.length + 4;
	const definition = { schema, references, sizeBytes, files: filesOf(type).map((name) => `${type.name}.${name}`) };
	definitions.set(type, definition);
	return definition;
}
