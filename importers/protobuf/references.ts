// What the names of types mean: in every file the innermost scope that knows a name decides
// (https://protobuf.dev/programming-guides/proto3/#name-resolution). Files that were compiled name types in full already.

import type { FieldDescriptorProto } from '@bufbuild/protobuf/wkt';
import {
	type DescriptorProto,
	type EnumDescriptorProto,
	type FileDescriptorProto,
	FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt';
import { quote } from '../../core/index.ts';
import { refused } from './fault.ts';

type Kind = 'message' | 'enum' | 'service';

/** Every type by its full name. */
export type Symbols = Map<string, { kind: Kind; path: string }>;

/** @throws schema_invalid when two files define one name */
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

/** Replaces every name by its full one, in place. @throws schema_invalid naming the type, and the imports that are missing */
export function resolveReferences(file: FileDescriptorProto, symbols: Symbols, missing: readonly string[]): void {
	const find = (name: string, scope: string, kinds: readonly Kind[]): { name: string; kind: Kind } => {
		for (const candidate of candidates(name, scope)) {
			const kind = symbols.get(candidate)?.kind;
			if (kind !== undefined && kinds.includes(kind)) return { name: `.${candidate}`, kind };
		}
		throw unknownType(file.name, name, missing);
	};
	const resolveFields = (fields: FieldDescriptorProto[], scope: string): void => {
		for (const field of fields) {
			if (field.extendee !== '') field.extendee = find(field.extendee, scope, ['message']).name;
			if (field.typeName === '') continue;
			const { name, kind } = find(field.typeName, scope, ['message', 'enum']);
			field.typeName = name;
			if (field.type !== Type.GROUP) field.type = kind === 'enum' ? Type.ENUM : Type.MESSAGE;
		}
	};
	const resolveMessage = (message: DescriptorProto, outer: string): void => {
		const scope = joined(outer, message.name);
		resolveFields([...message.field, ...message.extension], scope);
		for (const nested of message.nestedType) resolveMessage(nested, scope);
	};
	resolveFields(file.extension, file.package);
	for (const message of file.messageType) resolveMessage(message, file.package);
	for (const service of file.service) {
		const scope = joined(file.package, service.name);
		for (const method of service.method) {
			method.inputType = find(method.inputType, scope, ['message']).name;
			method.outputType = find(method.outputType, scope, ['message']).name;
		}
	}
}

/** From the innermost scope outwards. */
function* candidates(name: string, scope: string): Generator<string> {
	if (name.startsWith('.')) {
		yield name.slice(1);
		return;
	}
	for (let at = scope; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) yield `${at}.${name}`;
	yield name;
}

function unknownType(path: string, name: string, missing: readonly string[]): Error {
	const wanted = missing.length === 0 ? '' : `, and what it imports is missing: ${missing.slice(0, 10).map(quote).join(', ')}`;
	return refused(`${quote(path)} uses the type ${quote(name)}, which nothing defines${wanted}.`, path);
}
