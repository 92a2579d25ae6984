// Builds a schema from SDL as tolerantly as possible: GitHub publishes fields twice, teams publish files one after the other,
// subgraphs extend what they do not define. (GraphQL, September 2025, §3.)

import {
	buildASTSchema,
	type DefinitionNode,
	type DocumentNode,
	GraphQLError,
	type GraphQLSchema,
	getLocation,
	isTypeDefinitionNode,
	isTypeExtensionNode,
	Kind,
	Lexer,
	type NamedTypeNode,
	parse,
	Source,
	specifiedScalarTypes,
	TokenKind,
	type TypeDefinitionNode,
	type TypeExtensionNode,
	visit,
} from 'graphql';
import { cleanText, GatewayError, type Log } from '../../core/index.ts';
import { faultOf, refused } from './document.ts';

/** The most tokens of a document. GitHub’s schema has 61,000; each takes some hundred bytes while it is read. */
const MAX_TOKENS = 2_000_000;
const MAX_DEPTH = 100;
const MAX_WARNINGS = 20;

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/** Maps each kind of extension to the kind of definition that it extends. */
const DEFINITION_OF = {
	[Kind.SCALAR_TYPE_EXTENSION]: Kind.SCALAR_TYPE_DEFINITION,
	[Kind.OBJECT_TYPE_EXTENSION]: Kind.OBJECT_TYPE_DEFINITION,
	[Kind.INTERFACE_TYPE_EXTENSION]: Kind.INTERFACE_TYPE_DEFINITION,
	[Kind.UNION_TYPE_EXTENSION]: Kind.UNION_TYPE_DEFINITION,
	[Kind.ENUM_TYPE_EXTENSION]: Kind.ENUM_TYPE_DEFINITION,
	[Kind.INPUT_OBJECT_TYPE_EXTENSION]: Kind.INPUT_OBJECT_TYPE_DEFINITION,
} as const;
const EXTENSION_OF = Object.fromEntries(Object.entries(DEFINITION_OF).map(([extension, definition]) => [definition, extension]));

/** @throws schema_invalid naming line and column */
export function buildFromSdl(text: string, log: Log): GraphQLSchema {
	const source = new Source(text, 'schema');
	try {
		checkTokens(source);
		const document = joinDefinitions(parse(source));
		checkNames(document);
		warnOfDuplicates(document, log);
		return buildASTSchema(document, { assumeValid: true, assumeValidSDL: true });
	} catch (error) {
		if (error instanceof GatewayError) throw error;
		const [at] = error instanceof GraphQLError ? (error.locations ?? []) : [];
		const place = at ? `line ${at.line}, column ${at.column}: ` : '';
		throw refused(`The schema cannot be read: ${place}${faultOf(error)}`);
	}
}

/** The parser recurses, so depth is measured before it runs. */
function checkTokens(source: Source): void {
	const lexer = new Lexer(source);
	let depth = 0;
	for (let count = 0, token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance(), count++) {
		if (OPENING.has(token.kind)) depth++;
		if (CLOSING.has(token.kind)) depth--;
		if (depth > MAX_DEPTH)
			throw refused(`The schema is nested deeper than ${MAX_DEPTH} levels: line ${token.line}, column ${token.column}.`);
		if (count > MAX_TOKENS) throw refused(`The schema has more than ${MAX_TOKENS} tokens: line ${token.line}, column ${token.column}.`);
	}
}

/** Joins definitions of one name: later ones extend the first, and an extension without a definition becomes one. */
function joinDefinitions(document: DocumentNode): DocumentNode {
	const known = new Set(document.definitions.filter(isTypeDefinitionNode).map(({ name }) => name.value));
	const seen = new Set<string>();
	const definitions = document.definitions.map((node): DefinitionNode => {
		if (isTypeExtensionNode(node) && !known.has(node.name.value)) {
			known.add(node.name.value);
			seen.add(node.name.value);
			return asDefinition(node);
		}
		if (!isTypeDefinitionNode(node)) return node;
		if (seen.has(node.name.value)) return asExtension(node);
		seen.add(node.name.value);
		return node;
	});
	return { ...document, definitions };
}

// A definition has the members of its extension and a description, which nothing here reads.
const asDefinition = (node: TypeExtensionNode): DefinitionNode => ({ ...node, kind: DEFINITION_OF[node.kind] }) as TypeDefinitionNode;
const asExtension = (node: TypeDefinitionNode): DefinitionNode => ({ ...node, kind: EXTENSION_OF[node.kind] }) as TypeExtensionNode;

/** Reports unknown types with their line, which `buildASTSchema` does not tell. */
function checkNames(document: DocumentNode): void {
	const known = new Set(specifiedScalarTypes.map(({ name }) => name));
	for (const node of document.definitions) if (isTypeDefinitionNode(node)) known.add(node.name.value);
	const check = (node: NamedTypeNode): void => {
		if (known.has(node.name.value)) return;
		throw refused(`The schema cannot be read: ${placeOf(node)}: unknown type ${JSON.stringify(cleanText(node.name.value, 100))}.`);
	};
	visit(document, { NamedType: check });
}

function placeOf({ loc }: Pick<NamedTypeNode, 'loc'>): string {
	const { line, column } = loc ? getLocation(loc.source, loc.start) : { line: 1, column: 1 };
	return `line ${line}, column ${column}`;
}

function warnOfDuplicates(document: DocumentNode, log: Log): void {
	let warnings = 0;
	const seen = new Map<string, Set<string>>();
	for (const node of document.definitions) {
		if (!('fields' in node) || !node.fields) continue;
		const fields = seen.get(node.name.value) ?? new Set();
		seen.set(node.name.value, fields);
		for (const field of node.fields) {
			const name = field.name.value;
			if (fields.has(name) && warnings++ < MAX_WARNINGS)
				log.warn({ pointer: placeOf(field) }, `${node.name.value}.${name} is defined twice: the last definition counts.`);
			fields.add(name);
		}
	}
}
