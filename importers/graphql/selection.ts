// Chooses the fields that a tool asks for: leaves first, nearest first, until the budget is spent. No type is entered twice on one path.

import {
	type GraphQLAbstractType,
	type GraphQLField,
	type GraphQLNamedType,
	type GraphQLOutputType,
	type GraphQLSchema,
	getNamedType,
	isAbstractType,
	isCompositeType,
	isInterfaceType,
	isLeafType,
	isObjectType,
	isOutputType,
	isRequiredArgument,
	isScalarType,
} from 'graphql';

export interface SelectionLimits {
	/** Levels of objects below the answer itself; the content of wrappers does not count. */
	depth: number;
	maxLeaves: number;
	/** Items asked for of each paged field: servers such as GitHub refuse lists without a length. */
	pageSize: number;
}

/** Makes a selection such as `{ id name }`; empty for leaves. */
export type Selector = (type: GraphQLOutputType) => string;

interface Selection {
	/** Selections by the text before them: `name`, `Issue_state: state`, `items(first: 10)`. */
	fields: Map<string, Selection | null>;
	/** Selections by type name. */
	fragments: Map<string, Selection>;
}

interface Visit {
	type: GraphQLNamedType;
	into: Selection;
	depth: number;
	path: ReadonlySet<string>;
}

interface Walk {
	schema: GraphQLSchema;
	queue: Visit[];
	leavesLeft: number;
	differing: Map<GraphQLAbstractType, ReadonlySet<string>>;
	/** The arguments of a page, such as `(first: 10)`. */
	page: string;
}

/** The most objects that are visited, and their depth: enough for any budget of leaves, and a bound for endless types. */
const MAX_VISITS = 500;
const MAX_PATH = 12;

/** Types that only wrap a result, and their fields that lead to it or report the outcome. */
const WRAPPER = /(?:Connection|Edge|Payload|PageInfo)$/;
const WRAPPED: ReadonlySet<string> = new Set(['nodes', 'edges', 'node', 'pageInfo', 'errors', 'userErrors']);

export function createSelector(schema: GraphQLSchema, limits: SelectionLimits): Selector {
	const differing: Walk['differing'] = new Map();
	return (type) => {
		const named = getNamedType(type);
		if (!isCompositeType(named)) return '';
		const root = emptySelection();
		const first: Visit = { type: named, into: root, depth: limits.depth, path: new Set([named.name]) };
		const page = `(first: ${limits.pageSize})`;
		const walk: Walk = { schema, queue: [first], leavesLeft: limits.maxLeaves, differing, page };
		// The queue grows while it is walked, up to MAX_VISITS.
		for (const visit of walk.queue) visitType(visit, walk);
		return write(root) || '{ __typename }';
	};
}

const emptySelection = (): Selection => ({ fields: new Map(), fragments: new Map() });

function visitType(visit: Visit, walk: Walk): void {
	const { type, into } = visit;
	if (isAbstractType(type)) addLeaf(into, '__typename', walk);
	if (isObjectType(type) || isInterfaceType(type)) addFields(visit, Object.values(type.getFields()), walk);
	if (isAbstractType(type)) addFragments(visit, type, walk);
}

/** Each possible type gets an equal part of the remaining budget; without one, their common fields must do. */
function addFragments({ into, depth, path }: Visit, type: GraphQLAbstractType, walk: Walk): void {
	const possible = walk.schema.getPossibleTypes(type).filter((each) => isObjectType(each) && !path.has(each.name));
	const share = Math.floor(walk.leavesLeft / Math.max(1, possible.length));
	if (share === 0) return;
	const differing = differingFields(type, walk);
	for (const object of possible) {
		const fields = Object.values(object.getFields()).filter(({ name }) => !isChosen(into, name, walk));
		const fragment = emptySelection();
		const part: Walk = { ...walk, leavesLeft: share };
		const visit = { type: object, into: fragment, depth, path: new Set([...path, object.name]) };
		addFields(visit, fields, part, (name) => (differing.has(name) ? `${object.name}_${name}: ${name}` : name));
		walk.leavesLeft -= share - part.leavesLeft;
		into.fragments.set(object.name, fragment);
	}
}

/** Whether the field was chosen at the abstract type itself, under its own name. */
const isChosen = ({ fields }: Selection, name: string, { page }: Walk): boolean => fields.has(name) || fields.has(name + page);

/**
 * Names that possible types give to fields of different types: two answers under one name must have one shape (§5.3.2).
 * All fields of the types count, not only the chosen ones, so that a type is written alike wherever it appears.
 */
function differingFields(type: GraphQLAbstractType, { schema, differing }: Walk): ReadonlySet<string> {
	const known = differing.get(type);
	if (known) return known;
	const types = new Map<string, string>();
	const found = new Set<string>();
	for (const object of schema.getPossibleTypes(type).filter(isObjectType)) {
		for (const field of Object.values(object.getFields())) {
			const text = String(field.type);
			if ((types.get(field.name) ?? text) !== text) found.add(field.name);
			types.set(field.name, text);
		}
	}
	differing.set(type, found);
	return found;
}

type Fields = GraphQLField<unknown, unknown>[];

function addFields({ type, into, depth, path }: Visit, fields: Fields, walk: Walk, spell = (name: string): string => name): void {
	const names = new Set(fields.map(({ name }) => name));
	const usable = fields.filter((field) => isUsable(field) && !(field.name === 'edges' && names.has('nodes')));
	for (const field of usable) {
		const inner = getNamedType(field.type);
		const text = `${spell(field.name)}${takesPage(field) ? walk.page : ''}`;
		if (isLeafType(inner)) addLeaf(into, text, walk);
		const isWrapped = WRAPPER.test(type.name) && (WRAPPED.has(field.name) || WRAPPER.test(inner.name));
		const left = depth - (isWrapped ? 0 : 1);
		if (!isCompositeType(inner) || left < 0 || path.has(inner.name) || path.size >= MAX_PATH || walk.queue.length >= MAX_VISITS) continue;
		const child = emptySelection();
		into.fields.set(text, child);
		walk.queue.push({ type: inner, into: child, depth: left, path: new Set([...path, inner.name]) });
	}
}

function isUsable(field: Fields[number]): boolean {
	if (field.deprecationReason != null || !isOutputType(field.type)) return false;
	return field.args.every((arg) => !isRequiredArgument(arg) || isPage(arg));
}

const takesPage = ({ args, type }: Fields[number]): boolean => args.some(isPage) && !isLeafType(getNamedType(type));

function isPage({ name, type }: Fields[number]['args'][number]): boolean {
	const named = getNamedType(type);
	return name === 'first' && isScalarType(named) && named.name === 'Int' && /^Int!?$/.test(String(type));
}

function addLeaf(into: Selection, text: string, walk: Walk): void {
	if (walk.leavesLeft === 0) return;
	walk.leavesLeft--;
	into.fields.set(text, null);
}

/** Writes the selection; empty when nothing was chosen here or below. */
function write({ fields, fragments }: Selection): string {
	const pieces: string[] = [];
	for (const [text, child] of fields) {
		const inner = child === null ? '' : write(child);
		if (child === null || inner !== '') pieces.push(inner === '' ? text : `${text} ${inner}`);
	}
	for (const [name, fragment] of fragments) {
		const inner = write(fragment);
		if (inner !== '') pieces.push(`... on ${name} ${inner}`);
	}
	return pieces.length === 0 ? '' : `{ ${pieces.join(' ')} }`;
}
