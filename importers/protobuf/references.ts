// Resolves the names of types: in every file a name belongs to the innermost scope that defines it
// (https://protobuf.dev/programming-guides/proto3/#name-resolution). Compiled files already name types in full.

import { create } from '@bufbuild/protobuf';
import type { FieldDescriptorProto } from '@bufbuild/protobuf/wkt';
import {
	type DescriptorProto,
	DescriptorProtoSchema,
	type EnumDescriptorProto,
	type FileDescriptorProto,
	FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt';
import { type GatewayError, quote } from '../../core/index.ts';
import { refused } from './fault.ts';

type Kind = 'message' | 'enum' | 'service';

/** All types and services by their full names. */
export type Symbols = Map<string, { kind: Kind; path: string }>;

/** @throws schema_invalid if two files define one name */
export function listSymbols(files: Iterable<FileDescriptorProto>): Symbols {
	const symbols: Symbols = new Map();
	for (const file of files) {
		const add = (name: string, kind: Kind): void => {
			const other = symbols.get(name);
			if (other) throw refused(`${quote(file.name)} and ${quote(other.path)} both define ${quote(name)}.`, file.name);
			symbols.set(name, { kind, path: file.name });
		};
		addTypes(file.package, { messages: file.messageType, enums: file.enumType }, add);
		for (const { name } of file.service) add(joined(file.package, name), 'service');
	}
	return symbols;
}

interface Types {
	messages: DescriptorProto[];
	enums: EnumDescriptorProto[];
}

function addTypes(scope: string, { messages, enums }: Types, add: (name: string, kind: Kind) => void): void {
	for (const { name } of enums) add(joined(scope, name), 'enum');
	for (const message of messages) {
		const name = joined(scope, message.name);
		add(name, 'message');
		addTypes(name, { messages: message.nestedType, enums: message.enumType }, add);
	}
}

const joined = (scope: string, name: string): string => (scope === '' ? name : `${scope}.${name}`);

/** Faults by the full names of the messages, extensions and methods that use an undefined type. */
export type Unresolved = Map<string, GatewayError>;

/**
 * Replaces every name by its full one, in place; undefined ones by a substitute, so that the rest can be linked.
 * @param missing imports of the file that are missing. @param linked paths of the files that are linked before this one
 * @throws schema_invalid if a type is in a file that is linked later, since this one does not import it
 */
export function resolveReferences(
	file: FileDescriptorProto,
	symbols: Symbols,
	missing: readonly string[],
	linked: ReadonlySet<string>,
): Unresolved {
	const unresolved: Unresolved = new Map();
	const faults = new Map<string, GatewayError>();
	const find = (name: string, scope: string, kinds: readonly Kind[], owner: string): { name: string; kind: Kind } | null => {
		for (const candidate of candidates(name, scope)) {
			const { kind, path } = symbols.get(candidate) ?? {};
			if (kind === undefined || !kinds.includes(kind)) continue;
			if (path !== file.name && !linked.has(path ?? '')) throw notImported(file.name, candidate, path ?? '');
			return { name: `.${candidate}`, kind };
		}
		const fault = faults.get(name) ?? unknownType(file.name, name, missing);
		faults.set(name, fault);
		if (!unresolved.has(owner)) unresolved.set(owner, fault);
		return null;
	};
	const resolveField = (field: FieldDescriptorProto, scope: string, owner: string): void => {
		if (field.typeName === '') return;
		const found = find(field.typeName, scope, ['message', 'enum'], owner);
		if (!found) Object.assign(field, { typeName: '', type: Type.BYTES, defaultValue: '' });
		else field.typeName = found.name;
		if (found && field.type !== Type.GROUP) field.type = found.kind === 'enum' ? Type.ENUM : Type.MESSAGE;
	};
	/** Returns whether the extended message is defined; otherwise nothing reaches the extension. */
	const resolveExtension = (field: FieldDescriptorProto, scope: string): boolean => {
		const owner = joined(scope, field.name);
		const extended = find(field.extendee, scope, ['message'], owner);
		if (extended) field.extendee = extended.name;
		resolveField(field, scope, owner);
		return extended !== null;
	};
	/** Resolves a message. The fault of a map's entry is that of the message around it. */
	const resolveMessage = (message: DescriptorProto, outer: string): void => {
		const scope = joined(outer, message.name);
		for (const field of message.field) resolveField(field, scope, message.options?.mapEntry === true ? outer : scope);
		message.extension = message.extension.filter((field) => resolveExtension(field, scope));
		for (const nested of message.nestedType) resolveMessage(nested, scope);
	};
	file.extension = file.extension.filter((field) => resolveExtension(field, file.package));
	for (const message of file.messageType) resolveMessage(message, file.package);
	const standIn = nameOfStandIn(file, symbols);
	for (const service of file.service) {
		const scope = joined(file.package, service.name);
		for (const method of service.method) {
			const owner = joined(scope, method.name);
			method.inputType = find(method.inputType, scope, ['message'], owner)?.name ?? `.${standIn}`;
			method.outputType = find(method.outputType, scope, ['message'], owner)?.name ?? `.${standIn}`;
			const fault = unresolved.get(owner);
			if (fault) unresolved.set(standIn, fault);
		}
	}
	if (!unresolved.has(standIn)) return unresolved;
	file.messageType.push(create(DescriptorProtoSchema, { name: standIn.slice(standIn.lastIndexOf('.') + 1) }));
	symbols.set(standIn, { kind: 'message', path: file.name });
	return unresolved;
}

/** Returns the full name of an empty message that replaces undefined requests and answers of methods. */
function nameOfStandIn({ package: scope }: FileDescriptorProto, symbols: Symbols): string {
	let name = joined(scope, 'UndefinedType');
	while (symbols.has(name)) name += '_';
	return name;
}

/** Yields full names, from the innermost scope outwards. */
function* candidates(name: string, scope: string): Generator<string> {
	if (name.startsWith('.')) {
		yield name.slice(1);
		return;
	}
	for (let at = scope; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) yield `${at}.${name}`;
	yield name;
}

const notImported = (path: string, name: string, definedIn: string): GatewayError =>
	refused(
		`${quote(path)} uses the type ${quote(name)} of ${quote(definedIn)}, which it does not import: add an import of that file.`,
		path,
	);

function unknownType(path: string, name: string, missing: readonly string[]): GatewayError {
	const wanted = missing.length === 0 ? '' : `, and these imports are missing: ${missing.slice(0, 10).map(quote).join(', ')}`;
	return refused(`${quote(path)} uses the type ${quote(name)}, which is not defined${wanted}.`, path);
}
