// Converts the options of a parsed text that affect or describe the messages; all others are left out.

import {
	create,
	type DescMessage,
	type JsonObject,
	type JsonValue,
	type MessageShape,
	mergeFromJson,
	type Registry,
} from '@bufbuild/protobuf';
import type protobuf from 'protobufjs';
import { isObject } from '../../core/index.ts';

const KEPT: ReadonlySet<string> = new Set([
	'allow_alias',
	'deprecated',
	'features',
	'idempotency_level',
	'message_set_wire_format',
	'packed',
	'(google.api.field_behavior)',
	'(google.api.http)',
	'(google.longrunning.operation_info)',
]);

type Optioned = Pick<protobuf.ReflectionObject, 'parsedOptions'>;

/** @param registry registry with the extensions among the options */
export function convertOptions<D extends DescMessage>(schema: D, given: Optioned, registry: Registry): MessageShape<D> {
	const options = create(schema);
	for (const [name, value] of mergedLists(entriesOf(given), registry)) setOption(schema, options, name, value, registry);
	return options;
}

/** Joins list options, which may be set item by item: `[(x) = A, (x) = B]`. */
function mergedLists(entries: readonly [string, JsonValue][], registry: Registry): [string, JsonValue][] {
	const lists = new Map<string, JsonValue[]>();
	const merged: [string, JsonValue][] = [];
	for (const [given, value] of entries) {
		const name = given.replace(/^\(\./, '(');
		if (!KEPT.has(name)) continue;
		if (extensionOf(name, registry)?.fieldKind !== 'list') {
			merged.push([name, value]);
			continue;
		}
		const list = lists.get(name) ?? [];
		if (list.length === 0) merged.push([name, list]);
		lists.set(name, list);
		list.push(...(Array.isArray(value) ? value : [value]));
	}
	return merged;
}

const extensionOf = (name: string, registry: Registry) => (name.startsWith('(') ? registry.getExtension(name.slice(1, -1)) : undefined);

/** Lists the options. The parser declares a record, but returns a list of records, as one option may be set several times. */
function entriesOf({ parsedOptions }: Optioned): [string, JsonValue][] {
	const list = (Array.isArray(parsedOptions) ? parsedOptions : []) as Record<string, JsonValue>[];
	return list.flatMap((option) => Object.entries(option));
}

function setOption<D extends DescMessage>(schema: D, options: MessageShape<D>, name: string, value: JsonValue, registry: Registry): void {
	const extension = extensionOf(name, registry);
	const shaped = extension?.message ? shape(extension.message, value) : value;
	try {
		mergeFromJson(schema, options, { [extension ? `[${extension.typeName}]` : name]: shaped }, { registry, ignoreUnknownFields: true });
	} catch {
		// An option of the wrong type is ignored: the description is usable without it.
	}
}

/** Wraps single values of list fields: in the text format a list of one item is that item. */
function shape(desc: DescMessage, value: JsonValue): JsonValue {
	if (!isObject(value)) return value;
	const shaped: JsonObject = {};
	for (const [name, item] of Object.entries(value)) {
		const field = desc.fields.find((one) => one.name === name);
		const items = (Array.isArray(item) ? item : [item]).map((one) => (field?.message ? shape(field.message, one) : one));
		shaped[name] = field?.fieldKind === 'list' ? items : (items[0] ?? null);
	}
	return shaped;
}
