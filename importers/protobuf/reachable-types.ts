// Makes the descriptor set of a tool: one method and all types that its messages can hold, and nothing else.

import {
	create,
	type DescEnum,
	type DescExtension,
	type DescFile,
	type DescMessage,
	type DescMethod,
	type FileRegistry,
	isFieldSet,
	toBinary,
} from '@bufbuild/protobuf';
import {
	type DescriptorProto,
	DescriptorProtoSchema,
	type EnumDescriptorProto,
	EnumDescriptorProtoSchema,
	type FeatureSet,
	type FieldDescriptorProto,
	FieldDescriptorProtoSchema,
	FieldOptionsSchema,
	FileDescriptorProtoSchema,
	FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { WELL_KNOWN } from './bundled-files.ts';
import type { Missing } from './missing.ts';
import { camelCase } from './text-types.ts';

/** Most messages of the method's file that are added because its Any may hold them. */
const MAX_GUESSED = 200;

/** The types of a description, which all its methods share. */
export interface Reachable {
	registry: FileRegistry;
	/** Extensions by the full name of the extended message. */
	extensions: ReadonlyMap<string, DescExtension[]>;
	/** Position of each file, after its imports. */
	order: ReadonlyMap<DescFile, number>;
	missing: Missing;
}

interface Reached {
	types: Set<DescMessage | DescEnum>;
	extensions: Set<DescExtension>;
	holdsAny: boolean;
}

/** @param answers full names of messages that an Any in the answer holds */
export function compactSet(method: DescMethod, answers: readonly string[], world: Reachable): Uint8Array {
	const reached: Reached = { types: new Set(), extensions: new Set(), holdsAny: false };
	const add = (desc: DescMessage | undefined): void => {
		if (desc) reach(desc, reached, world);
	};
	/** Adds a message that an Any may hold, unless it depends on an undefined type. */
	const guess = (desc: DescMessage | undefined): void => {
		if (desc && world.missing.ofMessage(desc) === null) add(desc);
	};
	add(method.input);
	add(method.output);
	for (const name of answers) guess(world.registry.getMessage(name));
	if (reached.holdsAny) method.parent.file.messages.slice(0, MAX_GUESSED).forEach(guess);
	const files = new Set<DescFile>([...reached.types, ...reached.extensions].map(({ file }) => file));
	files.add(method.parent.file);
	const kept = [...files]
		.filter((file) => !WELL_KNOWN.has(file.proto.name))
		.sort((a, b) => (world.order.get(a) ?? 0) - (world.order.get(b) ?? 0));
	return toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: kept.map((file) => pruneFile(file, method, reached)) }));
}

function reach(root: DescMessage, reached: Reached, { extensions }: Reachable): void {
	const open: DescMessage[] = [root];
	for (let desc = open.pop(); desc !== undefined; desc = open.pop()) {
		if (reached.types.has(desc)) continue;
		reached.types.add(desc);
		if (desc.typeName === 'google.protobuf.Any') reached.holdsAny = true;
		const extending = extensions.get(desc.typeName) ?? [];
		for (const extension of extending) reached.extensions.add(extension);
		for (const { message, enum: values } of [...desc.fields, ...extending]) {
			if (message) open.push(message);
			if (values) reached.types.add(values);
		}
	}
}

function pruneFile(file: DescFile, method: DescMethod, reached: Reached) {
	const { name, package: packageName, syntax, edition, options } = file.proto;
	const { parent, proto } = method;
	const { inputType, outputType, clientStreaming, serverStreaming } = proto;
	const rpc = { name: proto.name, inputType, outputType, clientStreaming, serverStreaming };
	return create(FileDescriptorProtoSchema, {
		name,
		package: packageName,
		syntax,
		...(syntax === 'editions' ? { edition } : {}),
		...withFeatures(options?.features),
		messageType: file.messages.map((message) => pruneMessage(message, reached)).filter((one) => one !== null),
		enumType: pruneEnums(file.enums, reached),
		extension: pruneExtensions(file.extensions, reached),
		service: file === parent.file ? [{ name: parent.name, method: [rpc] }] : [],
	});
}

/** Keeps only the core features: those of languages change nothing on the wire. */
function withFeatures(features: FeatureSet | undefined): { options?: { features: FeatureSet } } {
	if (features === undefined) return {};
	const { $unknown, ...core } = features;
	return { options: { features: core } };
}

/** Reduces a message to what is reached; null if neither it nor anything in it is. */
function pruneMessage(desc: DescMessage, reached: Reached): DescriptorProto | null {
	const nestedType = desc.nestedMessages.map((one) => pruneMessage(one, reached)).filter((one) => one !== null);
	const enumType = pruneEnums(desc.nestedEnums, reached);
	const extension = pruneExtensions(desc.nestedExtensions, reached);
	const { name, field, oneofDecl, options } = desc.proto;
	if (!reached.types.has(desc)) {
		if (nestedType.length + enumType.length + extension.length === 0) return null;
		return create(DescriptorProtoSchema, { name, nestedType, enumType, extension, ...withFeatures(options?.features) });
	}
	// Entries of maps are messages to which only their field refers.
	const entries = desc.proto.nestedType.filter((one) => one.options?.mapEntry === true);
	return create(DescriptorProtoSchema, {
		name,
		field: field.map(pruneField),
		oneofDecl: oneofDecl.map((oneof) => ({ name: oneof.name })),
		nestedType: [...nestedType, ...entries.map(pruneEntry)],
		enumType,
		extension,
		...withFeatures(options?.features),
	});
}

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

function pruneExtensions(extensions: readonly DescExtension[], reached: Reached): FieldDescriptorProto[] {
	return extensions.filter((one) => reached.extensions.has(one)).map(({ proto }) => pruneField(proto));
}

function pruneEnums(enums: readonly DescEnum[], reached: Reached): EnumDescriptorProto[] {
	return enums
		.filter((one) => reached.types.has(one))
		.map(({ proto: { name, value, options } }) =>
			create(EnumDescriptorProtoSchema, {
				name,
				value: value.map((one) => ({ name: one.name, number: one.number })),
				...withFeatures(options?.features),
			}),
		);
}
