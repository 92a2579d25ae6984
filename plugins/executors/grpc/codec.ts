// Converts between arguments and the bytes of messages, by the canonical JSON of Protobuf (https://protobuf.dev/programming-guides/json/).

import {
	create,
	createFileRegistry,
	type DescMessage,
	type DescMethod,
	type FileRegistry,
	fromBinary,
	fromJson,
	type Message,
	toBinary,
	toJson,
} from '@bufbuild/protobuf';
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { cleanText, GatewayError, invalid, type Json } from '../../../core/index.ts';
import { ANY_FIELDS, type AnyTypes, anyTypes, holdsAny, wrapUnknown } from './any.ts';
import type { GrpcConfig } from './config.ts';
import { wellKnownFor } from './omitted-files.ts';

const MAX_FAULT_CHARS = 300;
/** The same limit as the importer's for full names, which are the longest. */
const MAX_NAME_CHARS = 512;

export interface Codec {
	method: DescMethod;
	/** The types that an Any may hold, in answers and in the details of a status. */
	types: AnyTypes;
	/** The longest name of a field, enum value or type. An answer repeats names, so this bounds the text that a few bytes can become. */
	longestNameChars: number;
	/** The most fields of any message. An answer is made with all fields of its messages, so this bounds the work that a few bytes can become. */
	mostFields: number;
	/** Writes a request. @param at JSON pointer of the arguments. @throws validation_failed naming the field */
	encode(json: Json, at: string): Buffer;
	/** Writes a request in canonical JSON. @throws like `encode` */
	show(json: Json, at: string): Json;
	/** @throws upstream_failed */
	decode(bytes: Uint8Array): Json;
}

/** @throws GatewayError validation_failed when the config's descriptors do not hold the method */
export function createCodec({ descriptors, service, method: name }: Pick<GrpcConfig, 'descriptors' | 'service' | 'method'>): Codec {
	const { known, longestNameChars, mostFields } = readRegistry(descriptors);
	const method = known.getService(service)?.methods.find((one) => one.name === name);
	if (!method) throw invalid('/executionConfig/descriptors', '"descriptors" must hold the service and the method.');
	const types = anyTypes(known);
	const { registry } = types;
	const { input, output } = method;
	const hasAny = holdsAny(output);
	/** Reads a request and writes it in another form. */
	const convert = <T>(json: Json, at: string, write: (message: Message) => T): T => {
		try {
			return write(fromJson(input, json, { registry: known }));
		} catch (error) {
			throw notValid(input, at, error);
		}
	};
	return {
		method,
		types,
		longestNameChars,
		mostFields: hasAny ? Math.max(mostFields, ANY_FIELDS) : mostFields,
		encode: (json, at) => convert(json, at, (message) => Buffer.from(toBinary(input, message))),
		show: (json, at) => convert(json, at, (message) => toJson(input, message, { registry }) as Json),
		decode(bytes) {
			try {
				const message = fromBinary(output, bytes);
				if (hasAny) wrapUnknown(output, message, types);
				return toJson(output, message, { registry }) as Json;
			} catch (cause) {
				throw new GatewayError('upstream_failed', `The answer is not a valid ${output.typeName}: ${faultOf(cause)}`, { cause });
			}
		},
	};
}

interface Linked {
	known: FileRegistry;
	longestNameChars: number;
	mostFields: number;
}

function readRegistry(descriptors: string): Linked {
	const known = linked(descriptors);
	const longestNameChars = longestNameIn(known);
	if (longestNameChars > MAX_NAME_CHARS)
		throw invalid('/executionConfig/descriptors', `"descriptors" must not hold names of more than ${MAX_NAME_CHARS} characters.`);
	return { known, longestNameChars, mostFields: mostFieldsIn(known) };
}

function linked(descriptors: string): FileRegistry {
	try {
		const { file } = fromBinary(FileDescriptorSetSchema, Buffer.from(descriptors, 'base64'));
		for (const { messageType, extension } of file) {
			messageType.forEach(completeNames);
			extension.forEach(completeName);
		}
		return createFileRegistry(create(FileDescriptorSetSchema, { file: [...wellKnownFor(file), ...file] }));
	} catch (error) {
		throw invalid('/executionConfig/descriptors', `"descriptors" must be a FileDescriptorSet in base64: ${faultOf(error)}`);
	}
}

function longestNameIn(registry: FileRegistry): number {
	let longest = 0;
	for (const desc of registry) {
		const names =
			desc.kind === 'message'
				? desc.fields.map(({ jsonName }) => jsonName)
				: desc.kind === 'enum'
					? desc.values.map(({ name }) => name)
					: [];
		for (const { length } of [desc.typeName, ...names]) longest = Math.max(longest, length);
	}
	return longest;
}

/** Counts the fields of the widest message, and all extensions, since any message might be the one that they extend. */
function mostFieldsIn(registry: FileRegistry): number {
	let [most, extensions] = [0, 0];
	for (const desc of registry) {
		if (desc.kind === 'message') most = Math.max(most, desc.fields.length);
		if (desc.kind === 'extension') extensions++;
	}
	return most + extensions;
}

/** The importer leaves out the names that can be derived. */
function completeNames(message: DescriptorProto): void {
	message.field.forEach(completeName);
	message.extension.forEach(completeName);
	message.nestedType.forEach(completeNames);
}

function completeName(field: FileDescriptorProto['extension'][number]): void {
	if (field.jsonName === '') field.jsonName = field.name.replace(/_+(.?)/g, (_match, letter: string) => letter.toUpperCase());
}

export const notValid = ({ typeName }: DescMessage, at: string, error: unknown): GatewayError =>
	invalid(at, `${at === '' ? 'The arguments are' : `${at} is`} not a valid ${typeName}: ${faultOf(error)}`);

export function faultOf(error: unknown): string {
	if (error instanceof RangeError && /call stack/.test(error.message)) return 'it is nested too deeply.';
	// The library formats times and durations without checks of its own, so these errors are the runtime's.
	if (error instanceof RangeError && /^Invalid (?:count|time) value/.test(error.message))
		return 'a google.protobuf.Duration or Timestamp in it is out of range.';
	const said = cleanText(error instanceof Error ? error.message : String(error), MAX_FAULT_CHARS);
	return `${said
		.replace(/^cannot (?:decode|encode) /, '')
		.replace(' from JSON: ', ': ')
		.replace(/\.$/, '')}.`;
}

/** Whether the JSON of this type is an object of its fields. The types below have a JSON form of their own. */
export const isPlain = ({ typeName }: DescMessage): boolean =>
	!/^google\.protobuf\.(?:Any|Timestamp|Duration|FieldMask|Struct|(?:List|Bool|Bytes|Double|Float|U?Int(?:32|64)|String)?Value)$/.test(
		typeName,
	);
