// The document that a call sends: one operation of the config's query, with the selection that `_select` asks for.
//
// `_select` is checked for its syntax and for allowed content, but not against the schema, which is not stored. GitHub's takes 1.2 MB, and
// nearly all of it can be reached from one field; fetching it at run time would block the event loop for 300 ms, if the endpoint still
// allowed it. The server validates every document against its schema anyway (GraphQL §6.1), and its message is passed on.

// Only the modules that parse and print documents are imported: the rest of the library is more than twice as much to load.
import { GraphQLError } from 'graphql/error/index.js';
import {
	type DocumentNode,
	type FieldNode,
	Kind,
	type OperationDefinitionNode,
	OperationTypeNode,
	parse,
	print,
	type SelectionSetNode,
	visit,
} from 'graphql/language/index.js';
import { cleanText, invalid, type JsonObject } from '../../../core/index.ts';
import type { GraphqlConfig } from './config.ts';

/** More than importers write. The parser recurses; a stack overflow is reported as nesting that is too deep. */
const MAX_TOKENS = 50_000;
const MAX_SELECT_TOKENS = 2_000;
const QUERY_AT = '/executionConfig/query';

export interface Query {
	document: DocumentNode;
	operation: OperationDefinitionNode;
}

/** @throws validation_failed naming line and column */
export function readQuery({ query, operationName, selectArgument }: GraphqlConfig): Query {
	const document = parseText(query, { at: QUERY_AT, maxTokens: MAX_TOKENS, shift: 0 });
	const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
	const [first, ...more] = operations.filter(({ name }) => operationName === undefined || name?.value === operationName);
	if (operations.length === 0) throw invalid(QUERY_AT, '"query" must hold an operation, such as query { … }.');
	if (first === undefined) throw invalid('/executionConfig/operationName', '"operationName" must name an operation of the query.');
	if (more.length > 0) {
		const message = '"query" holds several operations: "operationName" must say which one to run, and no two may have one name.';
		throw invalid('/executionConfig/operationName', message);
	}
	if (first.operation === OperationTypeNode.SUBSCRIPTION)
		throw invalid(QUERY_AT, '"query" must be a query or a mutation: a call is answered once, so subscriptions are not supported.');
	if (selectArgument !== undefined && onlyField(first) === null)
		throw invalid('/executionConfig/selectArgument', '"selectArgument" needs a query with one field that has a selection.');
	return { document, operation: first };
}

/** The body of the request, which may be sent twice unless it is a mutation (GraphQL §6.2.1: queries have no side effects). @throws validation_failed */
export function writeRequest(config: GraphqlConfig, args: JsonObject): { body: JsonObject; repeatable: boolean } {
	const { document, operation } = readQuery(config);
	const declared = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
	// Some servers (Hasura) refuse variables that the operation does not declare.
	const variables = Object.fromEntries(declared.filter((name) => Object.hasOwn(args, name)).map((name) => [name, args[name] ?? null]));
	const { selectArgument, operationName } = config;
	const selected = selectArgument !== undefined && Object.hasOwn(args, selectArgument) ? (args[selectArgument] ?? null) : null;
	const query = selected === null ? config.query : replaceSelection({ document, operation }, String(selected), `/${selectArgument}`);
	const body: JsonObject = { query, variables, ...(operationName === undefined ? {} : { operationName }) };
	return { body, repeatable: operation.operation === OperationTypeNode.QUERY };
}

function replaceSelection({ document, operation }: Query, text: string, at: string): string {
	const field = onlyField(operation);
	if (field === null) throw invalid(at, `${at} cannot be used: the tool’s query has no single field to select from.`);
	const selectionSet: SelectionSetNode = { kind: Kind.SELECTION_SET, selections: [{ ...field, selectionSet: readSelection(text, at) }] };
	const changed: OperationDefinitionNode = { ...operation, selectionSet };
	return print({ ...document, definitions: document.definitions.map((node) => (node === operation ? changed : node)) });
}

function onlyField({ selectionSet }: OperationDefinitionNode): FieldNode | null {
	const [first, ...more] = selectionSet.selections;
	return first?.kind === Kind.FIELD && first.selectionSet && more.length === 0 ? first : null;
}

/** Parses a selection, with or without braces around it: fields, aliases, arguments with values, inline fragments. */
function readSelection(text: string, at: string): SelectionSetNode {
	const isWrapped = /^[\s,]*\{/.test(text);
	const { definitions } = parseText(isWrapped ? text : `{${text}\n}`, { at, maxTokens: MAX_SELECT_TOKENS, shift: isWrapped ? 0 : 1 });
	const [first, ...more] = definitions;
	// A text that closes the brace by itself could go on with an operation of its own.
	if (first?.kind !== Kind.OPERATION_DEFINITION || more.length > 0 || first.operation !== OperationTypeNode.QUERY || first.name)
		throw invalid(at, `${at} must be one selection of fields, such as "id owner { login }".`);
	visit(first, {
		FragmentSpread: () => refuse(at, 'named fragments'),
		Variable: () => refuse(at, 'variables'),
		// `@defer` and `@stream` would be answered in parts.
		Directive: () => refuse(at, 'directives'),
	});
	return first.selectionSet;
}

function refuse(at: string, what: string): never {
	throw invalid(at, `${at} may hold fields, arguments with values and inline fragments, but no ${what}.`);
}

interface Parsing {
	at: string;
	maxTokens: number;
	/** Characters that were put before the user's own in the first line. */
	shift: number;
}

function parseText(text: string, { at, maxTokens, shift }: Parsing): DocumentNode {
	try {
		return parse(text, { maxTokens });
	} catch (error) {
		if (error instanceof RangeError) throw invalid(at, `${at} is nested too deeply to be read.`);
		if (!(error instanceof GraphQLError)) throw error;
		const { line = 1, column = 1 } = error.locations?.[0] ?? {};
		const place = `line ${line}, column ${line === 1 ? Math.max(1, column - shift) : column}`;
		throw invalid(at, `${at} is not valid GraphQL: ${place}: ${cleanText(error.message, 200)}`);
	}
}
