// The origin of an import's document: the body's text or files, a URL, or an endpoint that describes itself.

import { asGatewayError, GatewayError } from '../contract/errors.ts';
import type { ImportContext } from '../contract/kinds.ts';
import type { SchemaSource } from '../contract/nouns.ts';
import { refusedField } from '../egress/errors.ts';
import { checkIntrospected } from './check-importer.ts';
import { isZip, readFiles, unzip } from './files.ts';
import { decode, findRoot, type Importers, refuseOthers, sureOf } from './formats.ts';
import type { ImportRequest } from './request.ts';

const MAX_SOURCE_BYTES = 64 * 1024 * 1024;
const FETCH_TIMEOUT_MS = 60_000;
const ACCEPT = 'application/json, application/yaml, text/yaml, text/plain, */*;q=0.5';

/** @throws validation_failed, schema_invalid, egress_refused */
export async function getSource(request: ImportRequest, importers: Importers, context: ImportContext): Promise<SchemaSource> {
	const { schemaUrl, schemaContent, contentBytes, files, entry } = request;
	if (files !== null) return findRoot(readFiles(files), importers, { url: null, entry, at: '/files', isListed: typeof files !== 'string' });
	if (schemaUrl !== null) return fromUrl({ url: schemaUrl, entry }, importers, context);
	const text = schemaContent ?? '';
	await refuseOthers(importers, contentBytes ?? Buffer.from(text), { at: '/schemaContent', text: text.replace(/^\ufeff/, '') });
	return alone({ text, url: null });
}

/** Makes a source of a text without other files. */
const alone = (source: Pick<SchemaSource, 'text' | 'url'>): SchemaSource => ({ ...source, path: null, files: new Map() });

interface Fetched {
	/** The address of the answer, after redirects. */
	url: string;
	bytes: Buffer;
	/** The beginning of a sentence about the fault of the answer; null when it may be a description. */
	fault: string | null;
}

async function fromUrl(
	{ url, entry }: { url: string; entry: string | null },
	importers: Importers,
	context: ImportContext,
): Promise<SchemaSource> {
	const { own } = importers;
	const fetched = await get(url, context);
	if (fetched.fault === null && isZip(fetched.bytes))
		return findRoot(unzip(fetched.bytes, '/schemaUrl'), importers, { url: fetched.url, entry, at: '/schemaUrl', isListed: false });
	const { source, fault } = await read(fetched, importers);
	const ask = own.introspect?.bind(own, url, context);
	if (source && (ask === undefined || sureOf(own, fetched.bytes) > 0)) return source;
	if (ask === undefined) throw unusable(`${fault}.`);
	const told: unknown = await ask().catch((error: unknown) => blameAnswer(error, fault));
	return alone(checkIntrospected(own.name, told));
}

async function get(url: string, { request }: ImportContext): Promise<Fetched> {
	const asked = { method: 'GET', url, headers: { accept: ACCEPT }, timeoutMs: FETCH_TIMEOUT_MS, maxBytes: MAX_SOURCE_BYTES };
	const answer = await request(asked).catch(blameUrl);
	const fault = answer.status === 200 ? null : `schemaUrl answered with status ${answer.status}`;
	return { url: answer.url, bytes: answer.body, fault };
}

/** @returns `source`, null when the answer is of no use, and in any case the fault that it would have */
async function read({ url, bytes, fault }: Fetched, importers: Importers): Promise<{ source: SchemaSource | null; fault: string }> {
	if (fault !== null) return { source: null, fault };
	const text = decode(bytes);
	if (text?.trim() === '') return { source: null, fault: 'schemaUrl answered with an empty document' };
	await refuseOthers(importers, bytes, { at: '/schemaUrl', text: text ?? '' });
	if (text !== null) return { source: alone({ text, url }), fault: 'schemaUrl answered with a document that is no description' };
	const path = URL.parse(url)?.pathname.split('/').at(-1) || 'document';
	const source = sureOf(importers.own, bytes) > 0 ? { text: '', url, path, files: new Map([[path, bytes]]) } : null;
	return { source, fault: 'schemaUrl answered with bytes that are not UTF-8 text' };
}

/** Both requests went to the same endpoint: the error reports both answers. */
function blameAnswer(error: unknown, before: string): never {
	const known = asGatewayError(error);
	if (known?.code === 'schema_invalid') throw unusable(`${before}, and ${known.message}`);
	return blameUrl(error);
}

/** The URL is the client's input, so the client is to blame when it fails. */
function blameUrl(error: unknown): never {
	const known = asGatewayError(error);
	if (known?.code === 'upstream_failed' || known?.code === 'upstream_timeout')
		throw unusable(`schemaUrl could not be read: ${known.message}`);
	throw refusedField(error, '/schemaUrl');
}

const unusable = (message: string): GatewayError =>
	new GatewayError('schema_invalid', message, { details: [{ path: '/schemaUrl', message }] });
