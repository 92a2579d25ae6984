// Converts the fields of the root types one by one, so that a fault of one costs no other.

import {
	type GraphQLField,
	type GraphQLObjectType,
	type GraphQLSchema,
	getNamedType,
	isCompositeType,
	isOutputType,
	parse,
	validate,
} from 'graphql';
import { cleanText, type Named, type Operation } from '../../core/index.ts';
import { argumentFault, convertArguments, type Inputs, type Variable } from './arguments.ts';
import type { Selector } from './selection.ts';

export type RootKind = 'query' | 'mutation' | 'subscription';

export interface RootField {
	kind: RootKind;
	field: GraphQLField<unknown, unknown>;
}

export interface FieldContext {
	schema: GraphQLSchema;
	inputs: Inputs;
	select: Selector;
}

const MAX_DESCRIPTION_CHARS = 1000;
const MAX_DOCUMENT_CHARS = 48 * 1024;

/** Lists fields in the schema's order: queries, mutations, subscriptions. */
export function listOperations(schema: GraphQLSchema): RootField[] {
	const roots: [RootKind, GraphQLObjectType | null | undefined][] = [
		['query', schema.getQueryType()],
		['mutation', schema.getMutationType()],
		['subscription', schema.getSubscriptionType()],
	];
	return roots.flatMap(([kind, root]) => Object.values(root?.getFields() ?? {}).map((field) => ({ kind, field })));
}

export const named = ({ kind, field }: RootField): Named => ({ method: kind.toUpperCase(), path: field.name, operationId: field.name });

export function convertOperation(entry: RootField, name: string, context: FieldContext): Operation {
	const { kind, field } = entry;
	const common = {
		...named(entry),
		key: `${kind}.${field.name}`,
		name,
		description: describe(entry),
		tags: [],
		deprecated: field.deprecationReason != null,
		outputSchema: null,
	};
	const fault = faultOf(entry, context);
	const result = fault === null ? convertField(entry, context) : { skip: fault };
	if (!('skip' in result)) return { ...common, ...result };
	return { ...common, parameters: { type: 'object' }, definition: {}, outcome: 'skipped', reasons: [sentence(result.skip)] };
}

/** Tells why no tool can be made of the field; null when one can. */
function faultOf({ kind, field }: RootField, { inputs }: FieldContext): string | null {
	if (kind === 'subscription') return 'no tool is made of subscriptions: a call is answered once';
	if (!isOutputType(field.type)) return 'its type is none that can be answered';
	return field.args.map((arg) => argumentFault(arg, inputs)).find((fault) => fault !== null) ?? null;
}

type Converted = Pick<Operation, 'parameters' | 'whole' | 'definition' | 'outcome' | 'reasons'>;

function convertField(entry: RootField, { schema, inputs, select }: FieldContext): Converted | { skip: string } {
	const faults = new Set<string>();
	const { type, args } = entry.field;
	const { parameters, whole = null, variables, selects } = convertArguments(args, isCompositeType(getNamedType(type)), inputs, faults);
	let query = writeDocument(entry, variables, select(type));
	if (!isValid(query, schema)) {
		faults.add('the fields of its answer cannot be asked for together: only the name of its type is');
		query = writeDocument(entry, variables, selects ? '{ __typename }' : '');
		if (!isValid(query, schema)) return { skip: 'no valid document could be written for it' };
	}
	const reasons = [...faults].map(sentence);
	return { parameters, whole, definition: { query, selects }, outcome: reasons.length > 0 ? 'degraded' : 'converted', reasons };
}

function writeDocument({ kind, field }: RootField, variables: Variable[], selection: string): string {
	const declared = variables.map(({ name, type }) => `$${name}: ${type}`).join(', ');
	const passed = variables.map(({ name, argument }) => `${argument}: $${name}`).join(', ');
	const head = `${kind} ${field.name}${declared && `(${declared})`}`;
	return `${head} { ${field.name}${passed && `(${passed})`}${selection && ` ${selection}`} }`;
}

/** Aliases keep fields apart in every known schema; this check catches one that was made to defeat them. */
function isValid(query: string, schema: GraphQLSchema): boolean {
	return query.length <= MAX_DOCUMENT_CHARS && validate(schema, parse(query, { noLocation: true })).length === 0;
}

function describe({ kind, field }: RootField): string {
	const reason = field.deprecationReason;
	const parts = [reason == null ? '' : `Deprecated: ${reason || 'no reason is given'}`, field.description ?? ''];
	const text = parts
		.map((part) => part.trim())
		.filter(Boolean)
		.join('\n\n');
	return cleanText(text, MAX_DESCRIPTION_CHARS) || `${kind} ${field.name}`;
}

const sentence = (fault: string): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
