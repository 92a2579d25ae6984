// The options of a parsed text that change what is sent, or say something of it; all others are of no use here and are left out.

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

/** @param registry knows the extensions among the options */
export function convertOptions<D extends DescMessage>(schema: D, given: Optioned, registry: Registry): MessageShape<D> {
	const options = create(schema);
	for (const [name, value] of mergedLists(entriesOf(given), registry)) setOption(schema, options, name, value, registry);
	return options;
}

/** An option that is a list may be set item by item: `[(x) = A, (x) = B]`. */
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

/** The parser's own type says that it is a record; it is a list of such, as one option may stand there several times. */
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
		// An option of the wrong type says nothing: the description is usable without it.
	}
}

/** In the text format a list of one item is that item. */
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
