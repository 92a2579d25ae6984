// One .proto text → its FileDescriptorProto, with the names of types as they are written: they are resolved over all files later.

import { create } from '@bufbuild/protobuf';
import {
	Edition,
	type FileDescriptorProto,
	FileDescriptorProtoSchema,
	FileOptionsSchema,
	MethodDescriptorProtoSchema,
	MethodOptionsSchema,
	type ServiceDescriptorProto,
	ServiceDescriptorProtoSchema,
	ServiceOptionsSchema,
} from '@bufbuild/protobuf/wkt';
import protobuf from 'protobufjs';
import { cleanText, quote } from '../../core/index.ts';
import { MAX_FIELDS } from './check.ts';
import { refused } from './fault.ts';
import { convertOptions } from './text-options.ts';
import { addComment, convertMembers, type DefinitionContext, within } from './text-types.ts';

export interface ParsedFile {
	file: FileDescriptorProto;
	/** Comments by full name: `pkg.Message.field`. */
	comments: Map<string, string>;
}

/** @param registry registry with the options that are kept. @throws schema_invalid naming file and line */
export function parseText(path: string, text: string, registry: DefinitionContext['registry']): ParsedFile {
	try {
		return convertFile(path, text, registry);
	} catch (error) {
		const said =
			error instanceof RangeError ? 'it is nested too deeply' : cleanText(error instanceof Error ? error.message : String(error), 300);
		throw refused(`${quote(path)} cannot be read: ${said}.`, path);
	}
}

function convertFile(path: string, text: string, registry: DefinitionContext['registry']): ParsedFile {
	assertBounded(text);
	const parse = (): protobuf.IParserResult => protobuf.parse(text, createRoot(), { keepCase: true, alternateCommentMode: true });
	const parsed = withoutReservedChecks(() => withGroupsInOneofs(parse));
	const { imports, weakImports, package: packageName = '' } = parsed;
	const scope = scopeOf(parsed.root, packageName);
	const context: DefinitionContext = { name: packageName, comments: new Map(), registry };
	const { messages, enums, extensions } = convertMembers(scope, context);
	const services = scope.nestedArray.filter((one) => one instanceof protobuf.Service);
	const file = create(FileDescriptorProtoSchema, {
		name: path,
		package: packageName,
		dependency: [...(imports ?? []), ...(weakImports ?? [])],
		...syntaxOf(text),
		options: convertOptions(FileOptionsSchema, scope, registry),
		messageType: messages,
		enumType: enums,
		extension: extensions,
		service: services.map((service) => convertService(service, within(context, service.name))),
	});
	return { file, comments: context.comments };
}

/**
 * Makes a root that keeps definitions apart. A root of the parser's looks up the type of every extension in all scopes, again with each
 * message that follows, and adds the extension to that type; `references.ts` resolves them over all files.
 */
function createRoot(): protobuf.Root {
	const root = new protobuf.Root();
	// The method is missing from the parser's declarations.
	return Object.assign(root, { _handleAdd: () => undefined });
}

/**
 * Parses without the parser's look at what is reserved: it compares each field with each reserved range, so that a list of 200,000 takes
 * seconds. `checkReserved` looks at each once.
 */
function withoutReservedChecks<T>(parse: () => T): T {
	const { isReservedId, isReservedName } = protobuf.Namespace;
	Object.assign(protobuf.Namespace, { isReservedId: () => false, isReservedName: () => false });
	try {
		return parse();
	} finally {
		Object.assign(protobuf.Namespace, { isReservedId, isReservedName });
	}
}

/** Parses groups in oneofs, too: the parser hands the type of a group to the oneof, which takes fields only. It belongs to the message. */
function withGroupsInOneofs<T>(parse: () => T): T {
	const { prototype } = protobuf.OneOf;
	const { add } = prototype;
	const groups: { oneof: protobuf.OneOf; type: protobuf.Type }[] = [];
	prototype.add = function (this: protobuf.OneOf, member: protobuf.Field): protobuf.OneOf {
		// The declarations know nothing of groups.
		const given: protobuf.ReflectionObject = member;
		if (!(given instanceof protobuf.Type)) return add.call(this, member);
		groups.push({ oneof: this, type: given });
		return this;
	};
	try {
		const parsed = parse();
		for (const { oneof, type } of groups) oneof.parent?.add(type);
		return parsed;
	} finally {
		prototype.add = add;
	}
}

/** Blocks whose statements are not fields. */
const UNBOUNDED: ReadonlySet<string> = new Set(['enum', 'service']);
/** Keywords of edition 2024 before `message` and `enum`. */
const VISIBILITIES: ReadonlySet<string> = new Set(['export', 'local']);

interface Block {
	keyword: string | null;
	name: string | null;
	count: number;
}

/** Names the innermost definition, except oneofs. */
function whereIn(blocks: readonly Block[]): string {
	const block = blocks.findLast(({ keyword }) => keyword !== 'oneof');
	return block ? `the ${block.keyword} ${quote(block.name ?? '')}` : 'it';
}

/** A name that the parser drops, with what it names: as a key of its objects it would be their prototype. */
const DROPPED = '__proto__';

const QUOTES: ReadonlySet<string> = new Set(['"', "'"]);

/** Checks a text before it is parsed. @throws if a message has more statements than it may have fields, or something a name that is dropped */
function assertBounded(text: string): void {
	const tokens = protobuf.tokenize(text, false);
	const blocks: Block[] = [];
	let keyword: string | null = null;
	let name: string | null = null;
	let before: string | null = null;
	for (let token = tokens.next(); token !== null; token = tokens.next()) {
		const block = blocks.at(-1);
		if (token === '{') blocks.push({ keyword, name, count: 0 });
		else if (token === '}') {
			blocks.pop();
			const outer = blocks.at(-1);
			// The fields of a oneof are those of its message.
			if (block?.keyword === 'oneof' && outer) outer.count += block.count;
		} else if (token === ';' && block) block.count++;
		if (!UNBOUNDED.has(block?.keyword ?? '') && (block?.count ?? 0) > MAX_FIELDS)
			throw new Error(`a message has more than ${MAX_FIELDS} fields (line ${tokens.line})`);
		if (token === DROPPED && !QUOTES.has(before ?? ''))
			throw new Error(`${whereIn(blocks)} uses the name ${quote(DROPPED)} (line ${tokens.line})`);
		if (!VISIBILITIES.has(token)) {
			name = keyword !== null && name === null ? token : name;
			keyword = keyword ?? token;
			if ('{};'.includes(token)) [keyword, name] = [null, null];
		}
		before = token;
	}
}

function scopeOf(root: protobuf.Root, packageName: string): protobuf.NamespaceBase {
	let at: protobuf.NamespaceBase = root;
	for (const part of packageName.split('.').filter(Boolean)) {
		const next: protobuf.ReflectionObject | null = at.get(part);
		if (!(next instanceof protobuf.Namespace)) throw new Error(`the package ${quote(packageName)} cannot be used`);
		at = next;
	}
	return at;
}

const EDITIONS: Readonly<Record<string, Edition>> = {
	'2023': Edition.EDITION_2023,
	'2024': Edition.EDITION_2024,
	'2026': Edition.EDITION_2026,
};

const SYNTAXES = ['proto2', 'proto3'];

/** Reads the syntax, which must be the first statement; the parser has checked it, but does not expose it. */
function syntaxOf(text: string): { syntax: string; edition?: Edition } {
	const tokens = protobuf.tokenize(text, false);
	const [keyword, , , value = ''] = [tokens.next(), tokens.next(), tokens.next(), tokens.next() ?? ''];
	if (keyword === 'syntax' && !SYNTAXES.includes(value)) throw new Error(`there is no syntax ${quote(value)}`);
	if (keyword === 'syntax') return { syntax: value };
	const edition = keyword === 'edition' ? EDITIONS[value] : undefined;
	return edition === undefined ? { syntax: 'proto2' } : { syntax: 'editions', edition };
}

function convertService(service: protobuf.Service, context: DefinitionContext): ServiceDescriptorProto {
	addComment(context, context.name, service.comment);
	const methods = service.methodsArray.map((method) => {
		addComment(context, `${context.name}.${method.name}`, method.comment);
		return create(MethodDescriptorProtoSchema, {
			name: method.name,
			inputType: method.requestType,
			outputType: method.responseType,
			clientStreaming: method.requestStream ?? false,
			serverStreaming: method.responseStream ?? false,
			options: convertOptions(MethodOptionsSchema, method, context.registry),
		});
	});
	const options = convertOptions(ServiceOptionsSchema, service, context.registry);
	return create(ServiceDescriptorProtoSchema, { name: service.name, method: methods, options });
}
