// Counts what a request becomes: a message is made, and written, with all fields of its type, however few of them the JSON holds.

import type { DescMessage } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { isObject, type Json } from '../../../core/index.ts';
import { type Codec, isPlain } from './codec.ts';

/** A type of JSON values, which may hold any others. */
const HOLDS_JSON = /^google\.protobuf\.(?:Struct|ListValue|Value)$/;

/** The fields that take as long as a message without any, its way to the worker included. */
const MESSAGE = 10;

type Named = Pick<DescMessage['fields'][number], 'fieldKind' | 'message'>;
/** A type, and the JSON of a message of it. */
type Part = [desc: DescMessage, json: Json];

/** Sums up ten and the number of fields for each message, and one for each item of a list or map. @returns more than `most` when it is more */
export function weigh(json: Json, { method, types }: Pick<Codec, 'method' | 'types'>, most: number): number {
	let weight = 0;
	const left: Part[] = [[method.input, json]];
	for (let part = left.pop(); part && weight <= most; part = left.pop()) {
		const [desc, value] = part;
		weight += MESSAGE + desc.fields.length;
		if (typeof value !== 'object' || value === null) continue;
		if (HOLDS_JSON.test(desc.typeName)) for (const inner of Object.values(value)) left.push([ValueSchema, inner]);
		else if (desc.typeName === 'google.protobuf.Any') left.push(...contentOf(value, types));
		else if (isPlain(desc) && isObject(value))
			for (const name of Object.keys(value)) weight += addField(fieldOf(desc, name, types), value[name] ?? null, left, most);
	}
	return weight;
}

function contentOf(json: Json, { find }: Codec['types']): Part[] {
	const url = isObject(json) ? json['@type'] : null;
	const desc = typeof url === 'string' ? find(url.slice(url.lastIndexOf('/') + 1)) : undefined;
	if (desc === undefined || !isObject(json)) return [];
	return [[desc, isPlain(desc) ? json : (json['value'] ?? null)]];
}

/** Adds the messages of a field to those that are left. @returns the number of its items */
function addField(field: Named | undefined, json: Json, left: Part[], most: number): number {
	if (field === undefined || typeof json !== 'object' || json === null) return 0;
	const { message } = field;
	if (field.fieldKind === 'message' && message) left.push([message, json]);
	if (field.fieldKind !== 'list' && field.fieldKind !== 'map') return 0;
	// A list is not copied, and the values of a map, which take longer than its names, are read only where they are messages.
	const names = Array.isArray(json) ? null : Object.keys(json);
	const count = Array.isArray(json) ? json.length : (names?.length ?? 0);
	// A list of too many messages need not be looked into.
	const least = message ? count * (MESSAGE + message.fields.length) : 0;
	if (least > most) return least;
	if (message && Array.isArray(json)) for (const item of json) left.push([message, item]);
	else if (message && isObject(json)) for (const name of names ?? []) left.push([message, json[name] ?? null]);
	return count;
}

const fields = new WeakMap<DescMessage, Map<string, Named>>();

/** Finds a field by either of its names, or an extension by its name in brackets. */
function fieldOf(desc: DescMessage, name: string, { registry }: Codec['types']): Named | undefined {
	let named = fields.get(desc);
	if (named === undefined) {
		named = new Map(desc.fields.flatMap((field) => [field.name, field.jsonName].map((one) => [one, field])));
		fields.set(desc, named);
	}
	return named.get(name) ?? (name.startsWith('[') ? registry.getExtension(name.slice(1, -1)) : undefined);
}
