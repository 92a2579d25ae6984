// Media types of bodies: which one of several is used, and what kind of body it makes.

import { isObject, type Json, type JsonObject, mediaTypeOf } from '../../core/index.ts';
import { follow } from './references.ts';

export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary' | 'xml';

export interface MediaType {
	/** As the document spells it; may be a range. */
	name: string;
	/** As it goes on the wire: never a range. */
	contentType: string;
	kind: BodyKind;
	/** The Media Type Object. */
	raw: JsonObject;
}

const WIRE = /^[A-Za-z0-9!#$&^_.+*-]+\/[A-Za-z0-9!#$&^_.+*-]+(?:\s*;\s*[\w.-]+=(?:[\w.+/-]+|"[\w .:/+-]*"))*$/;

/** One JSON text after the other: https://jsonlines.org, https://github.com/ndjson/ndjson-spec, RFC 7464 and RFC 8142. */
export const JSON_SEQUENCE = /^application\/(?:(?:x-)?(?:jsonl|jsonlines|ndjson)|(?:[^;]*\+)?json-seq)\s*(?:;|$)/i;

/** In order of preference. A type that no other pattern knows is bytes. The `http` executor tells them apart alike. */
const KINDS: readonly (readonly [pattern: RegExp, kind: BodyKind])[] = [
	[/^text\/(?!json$|xml$)|[+/](?:x-)?yaml$|\/(?:graphql|javascript|sql|xml-dtd)$/, 'text'],
	[JSON_SEQUENCE, 'text'],
	[/json|^\*\/\*$|^application\/\*$/, 'json'],
	[/^application\/x-www-form-urlencoded$/, 'form'],
	// Not registered, and yet written where multipart is meant.
	[/^multipart\/|^application\/form-data$/, 'multipart'],
	[/[/+]xml$/, 'xml'],
	[/^/, 'binary'],
];
const PREFERENCE: readonly BodyKind[] = ['json', 'form', 'multipart', 'text', 'binary', 'xml'];

/** Ranges and misnomers, and what is sent for them. */
const SENT_AS: Readonly<Record<string, string>> = {
	'*/*': 'application/json',
	'application/*': 'application/json',
	'text/*': 'text/plain',
	'multipart/*': 'multipart/form-data',
	'application/form-data': 'multipart/form-data',
};

/** The one to use of a `content` map; null when there is none. */
export const preferredMediaType = (content: Json | undefined, root: JsonObject): MediaType | null =>
	rankedMediaTypes(content, root)[0] ?? null;

export const rankOf = ({ kind }: MediaType): number => PREFERENCE.indexOf(kind);

/** All of a `content` map, the one to use first. Each may be a reference (OpenAPI 3.2 §4.7.1, `mediaTypes`). */
export function rankedMediaTypes(content: Json | undefined, root: JsonObject): MediaType[] {
	const types = Object.entries(isObject(content) ? content : {}).flatMap(([name, raw]) => {
		const at = follow(root, raw);
		return readMediaType(name, 'fault' in at ? {} : at.object) ?? [];
	});
	return types.toSorted((a, b) => rankOf(a) - rankOf(b));
}

function readMediaType(name: string, raw: JsonObject): MediaType | null {
	const spelled = name.trim();
	if (!WIRE.test(spelled)) return null;
	const essence = mediaTypeOf(spelled);
	const kind = KINDS.find(([pattern]) => pattern.test(essence))?.[1] ?? 'binary';
	const contentType = SENT_AS[essence] ?? (essence.includes('*') ? 'application/octet-stream' : spelled);
	return { name: spelled, contentType, kind, raw };
}
