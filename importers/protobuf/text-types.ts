// Messages, enums and extensions of a parsed text → their descriptors.

import { create, type Registry } from '@bufbuild/protobuf';
import {
	type DescriptorProto,
	DescriptorProtoSchema,
	type EnumDescriptorProto,
	EnumDescriptorProtoSchema,
	EnumOptionsSchema,
	type FieldDescriptorProto,
	FieldDescriptorProtoSchema,
	FieldOptionsSchema,
	FieldDescriptorProto_Label as Label,
	MessageOptionsSchema,
	FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt';
import protobuf from 'protobufjs';
import { quote } from '../../core/index.ts';
import { convertOptions } from './text-options.ts';

/** The full name of a definition, and the state that all definitions of one file share. */
export interface DefinitionContext {
	/** Full name; empty at the top of a file without a package. */
	name: string;
	comments: Map<string, string>;
	registry: Registry;
}

export interface Members {
	messages: DescriptorProto[];
	enums: EnumDescriptorProto[];
	extensions: FieldDescriptorProto[];
}

/** A field or a value of an enum. */
interface Member {
	name: string;
	number: number;
}

const SCALARS: ReadonlyMap<string, Type> = new Map([
	['double', Type.DOUBLE],
	['float', Type.FLOAT],
	['int64', Type.INT64],
	['uint64', Type.UINT64],
	['int32', Type.INT32],
	['fixed64', Type.FIXED64],
	['fixed32', Type.FIXED32],
	['bool', Type.BOOL],
	['string', Type.STRING],
	['bytes', Type.BYTES],
	['uint32', Type.UINT32],
	['sfixed32', Type.SFIXED32],
	['sfixed64', Type.SFIXED64],
	['sint32', Type.SINT32],
	['sint64', Type.SINT64],
]);
const LABELS: ReadonlyMap<string, Label> = new Map([
	['required', Label.REQUIRED],
	['repeated', Label.REPEATED],
]);

export const within = (context: DefinitionContext, name: string): DefinitionContext => ({
	...context,
	name: context.name === '' ? name : `${context.name}.${name}`,
});

export function addComment({ comments }: DefinitionContext, name: string, comment: string | null | undefined): void {
	if (comment) comments.set(name, comment);
}

/** Converts the members of a file or a message, except fields. */
export function convertMembers(scope: protobuf.NamespaceBase, context: DefinitionContext): Members {
	const members: Members = { messages: [], enums: [], extensions: [] };
	const groups = groupsOf(scope);
	for (const one of scope.nestedArray) {
		if (one instanceof protobuf.Type) members.messages.push(convertMessage(one, within(context, one.name)));
		if (one instanceof protobuf.Enum) members.enums.push(convertEnum(one, within(context, one.name)));
		if (one instanceof protobuf.Field) members.extensions.push(convertField(one, context, groups));
	}
	return members;
}

/** Returns the names of groups, each of which is the name of both a type and a field. */
function groupsOf(scope: protobuf.NamespaceBase): ReadonlySet<string> {
	// `group` is missing from the parser's declarations of types.
	const groups = scope.nestedArray.filter((one) => one instanceof protobuf.Type && (one as { group?: boolean }).group === true);
	return new Set(groups.map(({ name }) => name));
}

function convertMessage(type: protobuf.Type, context: DefinitionContext): DescriptorProto {
	addComment(context, context.name, type.comment);
	const groups = groupsOf(type);
	const fields = type.fieldsArray;
	const oneofs = type.oneofsArray.filter((oneof) => oneof.fieldsArray.some((field) => fields.includes(field)));
	// Like protoc, the oneofs of `optional` fields follow the others.
	const ordered = [...oneofs.filter((oneof) => !isSynthetic(oneof)), ...oneofs.filter(isSynthetic)];
	const entries: DescriptorProto[] = [];
	const field = fields.map((one) => {
		const made = one instanceof protobuf.MapField ? convertMap(one, context, entries) : convertField(one, context, groups);
		if (one.partOf) made.oneofIndex = ordered.indexOf(one.partOf);
		return made;
	});
	checkReserved(type.reserved, field, context.name);
	const { messages, enums, extensions } = convertMembers(type, context);
	return create(DescriptorProtoSchema, {
		name: type.name,
		field,
		oneofDecl: ordered.map(({ name }) => ({ name })),
		nestedType: [...messages, ...entries],
		enumType: enums,
		extension: extensions,
		extensionRange: (type.extensions ?? []).map(([start = 0, end = 0]) => ({ start, end: end + 1 })),
		options: convertOptions(MessageOptionsSchema, type, context.registry),
	});
}

/** Refuses members with a reserved name or number. The ranges are passed once, in order, since there may be many of them. */
function checkReserved(reserved: readonly (number[] | string)[] = [], members: readonly Member[], owner: string): void {
	const fail = (what: string, { name }: Member): never => {
		throw new Error(`${what} of ${quote(`${owner}.${name}`)} is reserved in ${quote(owner)}`);
	};
	const names = new Set(reserved.filter((one) => typeof one === 'string'));
	const ranges = reserved.filter((one) => typeof one !== 'string').sort(([a = 0], [b = 0]) => a - b);
	let at = 0;
	let last = Number.NEGATIVE_INFINITY;
	for (const member of members.toSorted((a, b) => a.number - b.number)) {
		if (names.has(member.name)) fail('the name', member);
		for (; (ranges[at]?.[0] ?? Number.POSITIVE_INFINITY) <= member.number; at++) last = Math.max(last, ranges[at]?.[1] ?? last);
		if (member.number <= last) fail(`the number ${member.number}`, member);
	}
}

const isSynthetic = ({ fieldsArray }: protobuf.OneOf): boolean => fieldsArray.every(({ options }) => options?.['proto3_optional'] === true);

function convertField(field: protobuf.Field, context: DefinitionContext, groups: ReadonlySet<string>): FieldDescriptorProto {
	const isGroup = groups.has(field.type) && field.type.toLowerCase() === field.name.toLowerCase();
	// The parser keeps the case of all but the first letter; protoc's fields of groups are in lower case.
	const name = isGroup ? field.name.toLowerCase() : field.name;
	addComment(context, within(context, name).name, field.comment);
	const made = describeField(field, name, context);
	const scalar = SCALARS.get(field.type);
	if (scalar !== undefined) return Object.assign(made, { type: scalar });
	return Object.assign(made, { typeName: field.type }, isGroup ? { type: Type.GROUP } : {});
}

function describeField(field: protobuf.FieldBase, name: string, context: DefinitionContext): FieldDescriptorProto {
	const fallback = defaultOf(field);
	return create(FieldDescriptorProtoSchema, {
		name,
		number: field.id,
		label: LABELS.get(ruleOf(field)) ?? Label.OPTIONAL,
		jsonName: jsonNameOf(field) ?? camelCase(name),
		...(field.extend === undefined ? {} : { extendee: field.extend }),
		...(field.options?.['proto3_optional'] === true && field.extend === undefined ? { proto3Optional: true } : {}),
		...(fallback === null ? {} : { defaultValue: fallback }),
		options: convertOptions(FieldOptionsSchema, field, context.registry),
	});
}

/** Reads `rule`, which like `jsonName` is missing from the parser's declarations, or declared with another type. */
const ruleOf = (field: protobuf.FieldBase): string => String((field as { rule?: string | undefined }).rule ?? '');
const jsonNameOf = (field: protobuf.FieldBase): string | undefined => {
	const given = (field as { jsonName?: unknown }).jsonName;
	return typeof given === 'string' ? given : undefined;
};

/** Returns the default; null if the parser has lost digits of the number. */
function defaultOf({ options }: protobuf.FieldBase): string | null {
	const value: unknown = options?.['default'];
	if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return null;
	return value === undefined ? null : String(value);
}

/** Derives a field's JSON name like protoc. */
export function camelCase(name: string): string {
	return name.replace(/_+(.?)/g, (_match, letter: string) => letter.toUpperCase());
}

/** Converts a map into a list of entries, each a message (https://protobuf.dev/programming-guides/proto3/#backwards). */
function convertMap(field: protobuf.MapField, context: DefinitionContext, entries: DescriptorProto[]): FieldDescriptorProto {
	addComment(context, within(context, field.name).name, field.comment);
	const entryName = `${camelCase(`_${field.name}`)}Entry`;
	const scalar = SCALARS.get(field.type);
	const value = scalar === undefined ? { typeName: field.type } : { type: scalar };
	entries.push(
		create(DescriptorProtoSchema, {
			name: entryName,
			field: [
				{ name: 'key', number: 1, label: Label.OPTIONAL, jsonName: 'key', type: SCALARS.get(field.keyType) ?? Type.STRING },
				{ name: 'value', number: 2, label: Label.OPTIONAL, jsonName: 'value', ...value },
			],
			options: { mapEntry: true },
		}),
	);
	const made = describeField(field, field.name, context);
	return Object.assign(made, { label: Label.REPEATED, type: Type.MESSAGE, typeName: entryName });
}

function convertEnum(given: protobuf.Enum, context: DefinitionContext): EnumDescriptorProto {
	addComment(context, context.name, given.comment);
	const value = Object.entries(given.values).map(([name, number]) => ({ name, number }));
	checkReserved(given.reserved, value, context.name);
	return create(EnumDescriptorProtoSchema, {
		name: given.name,
		value,
		options: convertOptions(EnumOptionsSchema, given, context.registry),
	});
}
