// google.protobuf.Any names the type of its content, which may be one that this tool does not know.

import {
	create,
	createFileRegistry,
	type DescMessage,
	type FileRegistry,
	fromBinary,
	type Message,
	type Registry,
	toBinary,
} from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import {
	type Any,
	BytesValueSchema,
	FileDescriptorProtoSchema,
	FieldDescriptorProto_Label as Label,
	FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt';
import { RPC_FILES } from './omitted-files.ts';

const ANY = 'google.protobuf.Any';
/** An Any may hold an Any, and so on. */
const MAX_LEVELS = 32;
const FULL_NAME = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
const MAX_NAME_CHARS = 500;
/** The fields of a message that take as long as an Any of an unknown type. */
export const ANY_FIELDS = 10;
const NAMELESS = 'type.googleapis.com/unknown';

export interface AnyTypes {
	/** Finds a known type: one of the tool, or of google.rpc. */
	find(name: string): DescMessage | undefined;
	/** The known types, and for every other name a message of bytes, as `wrapUnknown` leaves it. */
	registry: Registry;
}

export function anyTypes(known: FileRegistry): AnyTypes {
	const find = (name: string): DescMessage | undefined => known.getMessage(name) ?? RPC_FILES.getMessage(name);
	return { find, registry: { ...known, getMessage: (name) => find(name) ?? unknownNamed(name) } };
}

/** A name that no type can have. */
const NO_NAME = 'an unknown type';

/**
 * The type of all messages whose type is unknown, which bears the name that was asked for last: the library compiles a type at its first use,
 * which takes as long as reading fifty messages of it. It compiles this one by the name that no type has, and messages of it keep that.
 */
const UNKNOWN: DescMessage & { typeName: string } = { ...unknownType(), typeName: NO_NAME };
create(UNKNOWN);

function unknownNamed(name: string): DescMessage {
	UNKNOWN.typeName = name;
	return UNKNOWN;
}

/** Makes the type `message Unknown { bytes value = 1; }`, which on the wire is a BytesValue. */
function unknownType(): DescMessage {
	const field = { name: 'value', jsonName: 'value', number: 1, label: Label.OPTIONAL, type: Type.BYTES };
	const messageType = [{ name: 'Unknown', field: [field] }];
	const file = create(FileDescriptorProtoSchema, { name: 'unknown.proto', syntax: 'proto3', messageType });
	const made = createFileRegistry(file, () => undefined).getMessage('Unknown');
	if (!made) throw new Error('The type for unknown ones cannot be made.');
	return made;
}

const nameIn = (typeUrl: string): string => typeUrl.slice(typeUrl.lastIndexOf('/') + 1);

export function holdsAny(root: DescMessage): boolean {
	const seen = new Set([root]);
	// Iteration over a Set also visits members added meanwhile.
	for (const desc of seen) {
		if (desc.typeName === ANY) return true;
		for (const { message } of desc.fields) if (message) seen.add(message);
	}
	return false;
}

/** Turns the content of each Any of an unknown type into bytes, in place, which become `{"@type": …, "value": base64}` in JSON. */
export function wrapUnknown(desc: DescMessage, message: Message, types: AnyTypes, level = 0): void {
	// The cast holds: a message of this type is an Any.
	if (desc.typeName === ANY) wrapAny(message as Any, types, level);
	else walk(reflect(desc, message), types, level);
}

function wrapAny(any: Any, types: AnyTypes, level: number): void {
	if (any.typeUrl === '') return;
	const name = nameIn(any.typeUrl);
	const desc = types.find(name);
	const inner = desc === undefined || level >= MAX_LEVELS ? null : parse(desc, any.value);
	if (desc !== undefined && inner !== null) {
		wrapUnknown(desc, inner, types, level + 1);
		any.value = toBinary(desc, inner);
		return;
	}
	any.value = toBinary(BytesValueSchema, create(BytesValueSchema, { value: any.value }));
	if (name.length > MAX_NAME_CHARS || !FULL_NAME.test(name)) any.typeUrl = NAMELESS;
	// Content that is not of its type, or is nested too deeply, must not be read as that type.
	else if (desc !== undefined) any.typeUrl += '.unread';
}

function parse(desc: DescMessage, bytes: Uint8Array): Message | null {
	try {
		return fromBinary(desc, bytes);
	} catch {
		// The sender means another type by this name.
		return null;
	}
}

function walk(message: ReflectMessage, types: AnyTypes, level: number): void {
	for (const field of message.fields) {
		if (!field.message || !message.isSet(field)) continue;
		if (field.fieldKind === 'message') wrapUnknown(field.message, message.get(field).message, types, level);
		if (field.fieldKind === 'list' && field.listKind === 'message')
			for (const item of message.get(field)) wrapUnknown(field.message, (item as ReflectMessage).message, types, level);
		if (field.fieldKind === 'map' && field.mapKind === 'message')
			for (const [, value] of message.get(field)) wrapUnknown(field.message, (value as ReflectMessage).message, types, level);
	}
}
