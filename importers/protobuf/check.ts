// Checks a file before its types are linked: names, numbers, sizes. protoc guarantees them, other makers of descriptor sets may not,
// and the parser of texts checks only some.

import { type DescField, type DescMessage, type FileRegistry, isFieldSet } from '@bufbuild/protobuf';
import {
	type DescriptorProto,
	type EnumDescriptorProto,
	type FieldDescriptorProto,
	FieldDescriptorProtoSchema,
	type FileDescriptorProto,
	FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt';
import { type GatewayError, quote } from '../../core/index.ts';
import { refused } from './fault.ts';

/** Most fields of a message: our work and the parser's grow with their square. No real message that we know has nearly as many. */
export const MAX_FIELDS = 2000;
/** Longest name. Answers repeat names with each value, so a long one would make a large answer of a few bytes. */
const MAX_NAME_CHARS = 256;
const MAX_FULL_NAME_CHARS = 512;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Largest field number: https://protobuf.dev/programming-guides/proto3/#assigning */
const MAX_FIELD_NUMBER = 2 ** 29 - 1;
const NAMED: ReadonlySet<Type> = new Set([Type.ENUM, Type.GROUP, Type.MESSAGE]);
const KEY_TYPES: ReadonlySet<Type> = new Set([
	Type.BOOL,
	Type.FIXED32,
	Type.FIXED64,
	Type.INT32,
	Type.INT64,
	Type.SFIXED32,
	Type.SFIXED64,
	Type.SINT32,
	Type.SINT64,
	Type.STRING,
	Type.UINT32,
	Type.UINT64,
]);

/** @throws schema_invalid naming the file and its fault */
export function checkFile({ name: path, package: scope, messageType, enumType, extension, service }: FileDescriptorProto): void {
	const fail: Fail = (said) => {
		throw refused(`${quote(path)} cannot be read: ${said}.`, path);
	};
	for (const part of scope === '' ? [] : scope.split('.')) checkName(part, scope, fail);
	for (const message of messageType) checkMessage(message, scope, fail);
	for (const one of enumType) checkEnum(one, scope, fail);
	for (const one of extension) checkField(one, scope, fail);
	for (const { name, method } of service) {
		checkName(name, joined(scope, name), fail);
		for (const one of method) checkName(one.name, joined(scope, `${name}.${one.name}`), fail);
		checkUnique(method, ({ name }) => name, `method of ${quote(joined(scope, name))}`, fail);
	}
}

/** @throws schema_invalid if an extension has the number of a field of its message, or of another extension in its file */
export function checkExtensions(registry: FileRegistry): void {
	const fields = new Map<DescMessage, Map<number, string>>();
	const extensions = new Map<string, string>();
	for (const desc of registry) {
		if (desc.kind !== 'extension') continue;
		const { extendee, number, typeName, file } = desc;
		const own = fields.get(extendee) ?? new Map(extendee.fields.map((one) => [one.number, joined(extendee.typeName, one.name)]));
		fields.set(extendee, own);
		const key = `${file.name} ${extendee.typeName} ${number}`;
		const other = own.get(number) ?? extensions.get(key);
		const path = file.proto.name;
		if (other !== undefined)
			throw refused(`${quote(path)} cannot be read: ${quote(typeName)} has the number ${number} of ${quote(other)}.`, path);
		extensions.set(key, typeName);
	}
}

/** Finds the messages whose fields cannot be told apart in JSON, or have a name there that no object of ours can hold, and says why. */
export function findAmbiguous(registry: FileRegistry): Map<string, GatewayError> {
	const found = new Map<string, GatewayError>();
	for (const desc of registry) {
		if (desc.kind !== 'message') continue;
		const fault = ambiguityOf(desc);
		const { name } = desc.file.proto;
		if (fault !== null) found.set(desc.typeName, refused(`In ${quote(name)}, the message ${quote(desc.typeName)} ${fault}.`, name));
	}
	return found;
}

function ambiguityOf({ fields, oneofs }: DescMessage): string | null {
	const owners = new Map<string, DescField>();
	for (const field of fields) {
		if (field.jsonName === '__proto__') return `has the field ${quote(field.name)}, whose name in JSON is "__proto__"`;
		// JSON may name a field both ways, and the library keeps its value under the third.
		for (const key of new Set([field.name, field.jsonName, field.localName])) {
			const other = owners.get(key);
			if (other) return `has the fields ${quote(other.name)} and ${quote(field.name)}, both of which ${quote(key)} can mean in JSON`;
			owners.set(key, field);
		}
	}
	for (const oneof of oneofs) {
		const field = owners.get(oneof.localName);
		if (field?.oneof === undefined && field?.localName === oneof.localName)
			return `has the field ${quote(field.name)} and the oneof ${quote(oneof.name)}, which cannot be told apart`;
	}
	return null;
}

type Fail = (said: string) => never;

const joined = (scope: string, name: string): string => (scope === '' ? name : `${scope}.${name}`);

function checkName(name: string, fullName: string, fail: Fail): void {
	if (!NAME.test(name))
		fail(`${quote(name.slice(0, MAX_NAME_CHARS))} is not a valid name: it must consist of letters, digits and underscores`);
	if (name.length > MAX_NAME_CHARS || fullName.length > MAX_FULL_NAME_CHARS)
		fail(`the name ${quote(`${name.slice(0, 50)}…`)} is too long: at most ${MAX_NAME_CHARS} characters, ${MAX_FULL_NAME_CHARS} in full`);
}

function checkMessage(message: DescriptorProto, scope: string, fail: Fail): void {
	const fullName = joined(scope, message.name);
	checkName(message.name, fullName, fail);
	const { field, extension, nestedType, enumType, oneofDecl } = message;
	if (field.length > MAX_FIELDS) fail(`${quote(fullName)} has more than ${MAX_FIELDS} fields`);
	for (const one of [...field, ...extension]) checkField(one, fullName, fail);
	for (const { name } of oneofDecl) checkName(name, joined(fullName, name), fail);
	checkUnique(field, ({ name }) => name, `field of ${quote(fullName)}`, fail);
	checkUnique(field, ({ number }) => number, `number of a field of ${quote(fullName)}`, fail);
	if (message.options?.mapEntry === true) checkEntry(field, fullName, fail);
	for (const nested of nestedType) checkMessage(nested, fullName, fail);
	for (const one of enumType) checkEnum(one, fullName, fail);
}

function checkField(field: FieldDescriptorProto, scope: string, fail: Fail): void {
	const { name, number, jsonName, type, typeName } = field;
	const fullName = joined(scope, name);
	checkName(name, fullName, fail);
	if (jsonName.length > MAX_NAME_CHARS) fail(`the "json_name" of ${quote(fullName)} is longer than ${MAX_NAME_CHARS} characters`);
	if (!Number.isInteger(number) || number < 1 || number > MAX_FIELD_NUMBER)
		fail(`the number of the field ${quote(fullName)} is ${number}: it must be from 1 to ${MAX_FIELD_NUMBER}`);
	// A field with a type name need not say whether that is a message or an enum.
	const isScalar = isFieldSet(field, FieldDescriptorProtoSchema.field.type) && Type[type] !== undefined && !NAMED.has(type);
	if (!isScalar && typeName === '') fail(`the field ${quote(fullName)} has no type`);
}

/** Checks a map's entry: https://protobuf.dev/programming-guides/proto3/#maps */
function checkEntry(field: readonly FieldDescriptorProto[], fullName: string, fail: Fail): void {
	const key = field.find(({ name, number }) => name === 'key' && number === 1);
	const value = field.find(({ name, number }) => name === 'value' && number === 2);
	if (field.length !== 2 || !key || !value || !KEY_TYPES.has(key.type))
		fail(`${quote(fullName)} is not an entry of a map: it must be "key = 1", a string, a boolean or an integer, and "value = 2"`);
}

function checkEnum({ name, value }: EnumDescriptorProto, scope: string, fail: Fail): void {
	const fullName = joined(scope, name);
	checkName(name, fullName, fail);
	if (value.length === 0) fail(`the enum ${quote(fullName)} has no value`);
	for (const one of value) {
		checkName(one.name, joined(scope, one.name), fail);
		if (one.number !== (one.number | 0)) fail(`the number of ${quote(joined(scope, one.name))} is ${one.number}: it must have 32 bits`);
	}
	checkUnique(value, (one) => one.name, `value of ${quote(fullName)}`, fail);
}

function checkUnique<T>(list: readonly T[], keyOf: (one: T) => string | number, what: string, fail: Fail): void {
	const seen = new Set<string | number>();
	for (const one of list) {
		const key = keyOf(one);
		if (seen.has(key)) fail(`${quote(String(key))} is twice a ${what}`);
		seen.add(key);
	}
}
