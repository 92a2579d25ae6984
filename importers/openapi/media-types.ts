// Ranks the media types of a body and tells which kind of body each one is.

import { isObject, type Json, type JsonObject, mediaTypeOf } from '../../core/index.ts';
import { follow } from './references.ts';

export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary' | 'xml';

export interface MediaType {
	/** The media type as the document spells it; may be a range. */
	name: string;
	/** The media type that is sent: never a range. */
	contentType: string;
	kind: BodyKind;
	/** The Media Type Object. */
	raw: JsonObject;
}

const WIRE = /^[A-Za-z0-9!#$&^_.+*-]+\/[A-Za-z0-9!#$&^_.+*-]+(?:\s*;\s*[\w.-]+=(?:[\w.+/-]+|"[\w .:/+-]*"))*$/;

/** Media types of JSON texts in sequence: https://jsonlines.org, https://github.com/ndjson/ndjson-spec, RFC 7464 and RFC 8142. */
export const JSON_SEQUENCE = /^application\/(?:(?:x-)?(?:jsonl|jsonlines|ndjson)|(?:[^;]*\+)?json-seq)\s*(?:;|$)/i;

/** The kinds in order of matching; the last pattern makes all other types bytes. The `http` executor uses the same rules. */
const KINDS: readonly (readonly [pattern: RegExp, kind: BodyKind])[] = [
	[/^text\/(?!json$|xml$)|[+/](?:x-)?yaml$|\/(?:graphql|javascript|sql|xml-dtd)$/, 'text'],
	[JSON_SEQUENCE, 'text'],
	[/json|^\*\/\*$|^application\/\*$/, 'json'],
	[/^application\/x-www-form-urlencoded$/, 'form'],
	// This type is not registered, but documents use it for multipart.
	[/^multipart\/|^application\/form-data$/, 'multipart'],
	[/[/+]xml$/, 'xml'],
	[/^/, 'binary'],
];
const PREFERENCE: readonly BodyKind[] = ['json', 'form', 'multipart', 'text', 'binary', 'xml'];

/** The media type that is sent for a range, by the kind of body that it stands for. */
const SENT_FOR_RANGE: Readonly<Record<BodyKind, string>> = {
	json: 'application/json',
	form: 'application/x-www-form-urlencoded',
	multipart: 'multipart/form-data',
	text: 'text/plain',
	binary: 'application/octet-stream',
	xml: 'application/xml',
};

/** Returns the preferred media type of a `content` map, of one kind the plainest; null when there is none. */
export function preferredMediaType(content: Json | undefined, root: JsonObject): MediaType | null {
	const byRank = (a: MediaType, b: MediaType): number => rankOf(a) - rankOf(b) || rankWithinKind(a, root) - rankWithinKind(b, root);
	return rankedMediaTypes(content, root).toSorted(byRank)[0] ?? null;
}

export const rankOf = ({ kind }: MediaType): number => PREFERENCE.indexOf(kind);

/** Ranks media types of one kind, the plainest first. A JSON Patch is a list (RFC 6902 §3): a schema of another type describes no such body. */
function rankWithinKind({ name, raw }: MediaType, root: JsonObject): number {
	const essence = mediaTypeOf(name);
	if (essence === 'application/json') return 0;
	if (essence.includes('*')) return 3;
	if (essence !== 'application/json-patch+json') return 1;
	const at = follow(root, raw['schema']);
	return 'object' in at && at.object['type'] === 'array' ? 2 : 4;
}

/** Returns all media types of a `content` map, the preferred one first. Each may be a reference (OpenAPI 3.2 §4.7.1, `mediaTypes`). */
export function rankedMediaTypes(content: Json | undefined, root: JsonObject): MediaType[] {
	const types = Object.entries(isObject(content) ? content : {}).flatMap(([name, raw]) => {
		const at = follow(root, raw);
		return readMediaType(name, 'fault' in at ? {} : at.object) ?? [];
	});
	return types.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** Returns a media type as it can be sent; null for a key of a `content` map that is none. */
export function wireName(name: string): string | null {
	const spelled = name.trim();
	return WIRE.test(spelled) ? spelled : null;
}

function readMediaType(name: string, raw: JsonObject): MediaType | null {
	const spelled = wireName(name);
	if (spelled === null) return null;
	const essence = mediaTypeOf(spelled);
	const kind = KINDS.find(([pattern]) => pattern.test(essence))?.[1] ?? 'binary';
	// `application/form-data` is not registered, and means `multipart/form-data`.
	const isOwnName = !essence.includes('*') && essence !== 'application/form-data';
	const contentType = isOwnName ? spelled : SENT_FOR_RANGE[kind];
	return { name: spelled, contentType, kind, raw };
}
