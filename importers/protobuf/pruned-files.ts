// Encodes the part of a file that a method reaches. Most of what one method reaches, others reach too, so each type is encoded once, and a
// file is joined of the encoded pieces (https://protobuf.dev/programming-guides/encoding/): the same bytes as of the whole at once.

import {
	create,
	type DescEnum,
	type DescExtension,
	type DescFile,
	type DescMessage,
	type DescMethod,
	isFieldSet,
	type MessageInitShape,
	toBinary,
} from '@bufbuild/protobuf';
import {
	type DescriptorProto,
	DescriptorProtoSchema,
	EnumDescriptorProtoSchema,
	type FeatureSet,
	type FieldDescriptorProto,
	FieldDescriptorProtoSchema,
	FieldOptionsSchema,
	FileDescriptorProtoSchema,
	ServiceDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { camelCase } from './text-types.ts';

export interface Reached {
	types: Set<DescMessage | DescEnum>;
	extensions: Set<DescExtension>;
}

/** Encoded bytes in the order in which they are joined. */
export interface Encoded {
	parts: Uint8Array[];
	sizeBytes: number;
}

/** The encoded pieces of a description. */
export interface Pieces {
	files: Map<DescFile, Ends>;
	messages: Map<DescMessage, Ends>;
	/** Messages of which nothing is reached but types around them. */
	shells: Map<DescMessage, Ends>;
	/** Enums, extensions, and messages without types inside, as members of what encloses them. */
	members: Map<DescEnum | DescExtension | DescMessage, Encoded>;
}

/** Fields of a message are encoded in the order of their numbers: those before its types inside, and those behind. */
interface Ends {
	head: Encoded;
	/** The entries of maps, which follow the messages inside. */
	entries: Encoded;
	tail: Encoded;
}

/** Numbers of fields in descriptor.proto: of those that hold a type, by what encloses it. */
const IN_FILE = { message: 4, enum: 5, extension: 7 };
const IN_MESSAGE = { message: 3, enum: 4, extension: 6 };
const SERVICE = 6;

export const createPieces = (): Pieces => ({ files: new Map(), messages: new Map(), shells: new Map(), members: new Map() });

const NOTHING: Encoded = { parts: [], sizeBytes: 0 };

const encoded = (bytes: Uint8Array): Encoded => ({ parts: [bytes], sizeBytes: bytes.length });

function joined(list: readonly Encoded[]): Encoded {
	const all: Encoded = { parts: [], sizeBytes: 0 };
	for (const { parts, sizeBytes } of list) {
		for (const part of parts) all.parts.push(part);
		all.sizeBytes += sizeBytes;
	}
	return all;
}

/** Encodes a message as a field of another; the number of the field is at most 15. */
export function member(field: number, { parts, sizeBytes }: Encoded): Encoded {
	const start = [(field << 3) | 2];
	let rest = sizeBytes;
	for (; rest >= 0x80; rest >>>= 7) start.push((rest & 0x7f) | 0x80);
	start.push(rest);
	return { parts: [Uint8Array.from(start), ...parts], sizeBytes: start.length + sizeBytes };
}

/** Joins bytes that are used again and again. */
const fixed = ({ parts }: Encoded): Encoded => encoded(Buffer.concat(parts));

function known<K, V>(map: Map<K, V>, key: K, make: (key: K) => V): V {
	const before = map.get(key);
	if (before !== undefined) return before;
	const made = make(key);
	map.set(key, made);
	return made;
}

export function pruneFile(file: DescFile, method: DescMethod, reached: Reached, pieces: Pieces): Encoded {
	const { head, tail } = known(pieces.files, file, endsOfFile);
	return joined([
		head,
		...file.messages.map((message) => pruneMessage(message, reached, pieces)),
		...file.enums.map((one) => pruneEnum(one, reached, pieces)),
		file === method.parent.file ? serviceOf(method) : NOTHING,
		...file.extensions.map((one) => pruneExtension(one, reached, pieces)),
		tail,
	]);
}

function endsOfFile({ proto: { name, package: packageName, syntax, edition, options } }: DescFile): Ends {
	const rest = { syntax, ...(syntax === 'editions' ? { edition } : {}), ...withFeatures(options?.features) };
	const encode = (init: MessageInitShape<typeof FileDescriptorProtoSchema>): Encoded =>
		encoded(toBinary(FileDescriptorProtoSchema, create(FileDescriptorProtoSchema, init)));
	return { head: encode({ name, package: packageName }), entries: NOTHING, tail: encode(rest) };
}

function serviceOf({ parent, proto }: DescMethod): Encoded {
	const { name, inputType, outputType, clientStreaming, serverStreaming } = proto;
	const rpc = { name, inputType, outputType, clientStreaming, serverStreaming };
	const service = create(ServiceDescriptorProtoSchema, { name: parent.name, method: [rpc] });
	return member(SERVICE, encoded(toBinary(ServiceDescriptorProtoSchema, service)));
}

/** Keeps only the core features: those of languages change nothing on the wire. */
function withFeatures(features: FeatureSet | undefined): { options?: { features: FeatureSet } } {
	if (features === undefined) return {};
	const { $unknown, ...core } = features;
	return { options: { features: core } };
}

/** Reduces a message to what is reached; nothing if neither it nor anything in it is. */
function pruneMessage(desc: DescMessage, reached: Reached, pieces: Pieces): Encoded {
	const isReached = reached.types.has(desc);
	const { nestedMessages, nestedEnums, nestedExtensions } = desc;
	if (nestedMessages.length + nestedEnums.length + nestedExtensions.length === 0)
		return isReached ? known(pieces.members, desc, () => fixed(messageOf(desc, endsOfMessage(desc), NOTHING, NOTHING))) : NOTHING;
	const nested = joined(nestedMessages.map((one) => pruneMessage(one, reached, pieces)));
	const others = joined([
		...nestedEnums.map((one) => pruneEnum(one, reached, pieces)),
		...nestedExtensions.map((one) => pruneExtension(one, reached, pieces)),
	]);
	if (!isReached && nested.sizeBytes + others.sizeBytes === 0) return NOTHING;
	const ends = isReached ? known(pieces.messages, desc, endsOfMessage) : known(pieces.shells, desc, endsOfShell);
	return messageOf(desc, ends, nested, others);
}

function messageOf({ parent }: DescMessage, { head, entries, tail }: Ends, nested: Encoded, others: Encoded): Encoded {
	return member((parent ? IN_MESSAGE : IN_FILE).message, joined([head, nested, entries, others, tail]));
}

const encodeMessage = (init: MessageInitShape<typeof DescriptorProtoSchema>): Encoded =>
	encoded(toBinary(DescriptorProtoSchema, create(DescriptorProtoSchema, init)));

function endsOfMessage({ proto: { name, field, oneofDecl, options, nestedType } }: DescMessage): Ends {
	// Entries of maps are messages to which only their field refers.
	const entries = nestedType.filter((one) => one.options?.mapEntry === true);
	return {
		head: encodeMessage({ name, field: field.map(pruneField) }),
		entries: encodeMessage({ nestedType: entries.map(pruneEntry) }),
		tail: encodeMessage({ oneofDecl: oneofDecl.map((oneof) => ({ name: oneof.name })), ...withFeatures(options?.features) }),
	};
}

const endsOfShell = ({ proto: { name, options } }: DescMessage): Ends => ({
	head: encodeMessage({ name }),
	entries: NOTHING,
	tail: encodeMessage(withFeatures(options?.features)),
});

const pruneEntry = ({ name, field }: DescriptorProto): DescriptorProto =>
	create(DescriptorProtoSchema, { name, field: field.map(pruneField), options: { mapEntry: true } });

/** Copies a field. Unset members must stay unset: presence and oneofs depend on that. */
function pruneField(proto: FieldDescriptorProto): FieldDescriptorProto {
	const { name, number, label, type, typeName, extendee, jsonName, oneofIndex, proto3Optional, options } = proto;
	const made = create(FieldDescriptorProtoSchema, { name, number, label, type });
	if (typeName !== '') made.typeName = typeName;
	if (extendee !== '') made.extendee = extendee;
	// The executor derives all other JSON names.
	if (jsonName !== camelCase(name)) made.jsonName = jsonName;
	if (isFieldSet(proto, FieldDescriptorProtoSchema.field.oneofIndex)) made.oneofIndex = oneofIndex;
	if (proto3Optional) made.proto3Optional = true;
	const features = withFeatures(options?.features).options;
	const packed = options && isFieldSet(options, FieldOptionsSchema.field.packed) ? { packed: options.packed } : undefined;
	if (features || packed) made.options = create(FieldOptionsSchema, { ...features, ...packed });
	return made;
}

function pruneExtension(desc: DescExtension, { extensions }: Reached, { members }: Pieces): Encoded {
	if (!extensions.has(desc)) return NOTHING;
	return known(members, desc, () => {
		const bytes = toBinary(FieldDescriptorProtoSchema, pruneField(desc.proto));
		return fixed(member((desc.parent ? IN_MESSAGE : IN_FILE).extension, encoded(bytes)));
	});
}

function pruneEnum(desc: DescEnum, { types }: Reached, { members }: Pieces): Encoded {
	if (!types.has(desc)) return NOTHING;
	return known(members, desc, () => {
		const { name, value, options } = desc.proto;
		const made = create(EnumDescriptorProtoSchema, {
			name,
			value: value.map((one) => ({ name: one.name, number: one.number })),
			...withFeatures(options?.features),
		});
		return fixed(member((desc.parent ? IN_MESSAGE : IN_FILE).enum, encoded(toBinary(EnumDescriptorProtoSchema, made))));
	});
}
