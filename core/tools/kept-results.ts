// Results that were too large for their client: kept page by page for ten minutes, sealed, for their caller alone, on all replicas.

import { randomBytes } from 'node:crypto';
import { asGatewayError } from '../contract/errors.ts';
import type { Caller, ContentBlock, Log, Records, ToolResult } from '../contract/nouns.ts';
import type { KeptPage, KeptResult, ResultLink } from '../contract/results.ts';
import { PluginRecords } from '../shared/plugin-records.ts';
import type { CallParts, Services } from './call-parts.ts';
import type { Budget } from './result-budget.ts';

const KEPT_MS = 600_000;
/** The characters of a page: some 25,000 tokens. */
const PAGE_CHARS = 96 * 1024;
/** The most pages that are kept: 24 MiB of a caller, who can keep the largest result, and 96 MiB of an organization. */
const MOST_OF_CALLER = 256;
const MOST_OF_ORGANIZATION = 1024;
const WRITTEN_AT_ONCE = 8;
const ID = /^[\w-]{24}$/;

/** The owner of kept results: a caller at a gateway, or at an address over several of them. */
export interface KeptBy {
	/** Core's own records of the organization. */
	records: Records;
	/** The gateway's id, or the plugin of the address. */
	at: string;
	subject: string;
	log: Log;
}

/** Kept results are core's own records of the organization, so that its bound holds over all gateways. */
export function keptBy(
	{ store, records: services, log }: Services,
	{ organizationId, gateway, plugin }: CallParts,
	{ subject }: Caller,
): KeptBy {
	const owner = { organizationId, gatewayId: null, plugin: 'core:results' };
	return { records: new PluginRecords({ store: store.records, services }, owner), at: gateway?.id ?? plugin, subject, log };
}

/** Returns the way in which a call keeps what is cut; a call without a caller keeps nothing. */
export function keeping(services: Services, parts: CallParts, link: ResultLink): Required<Budget>['keep'] {
	const { caller } = parts;
	return { link, whole: async (result) => (caller ? keepResult(result, keptBy(services, parts, caller)) : null) };
}

interface Page {
	mimeType: string;
	kind: 'text' | 'blob';
	body: string;
}

/** Keeps a result. @returns null when it could not be kept, since too many are or the database refused it */
async function keepResult({ content, structured }: ToolResult, { records, at, subject, log }: KeptBy): Promise<KeptResult | null> {
	const pages = structured === undefined ? content.flatMap(pagesOf) : textPages(JSON.stringify(structured), 'application/json');
	const [first] = pages;
	const own = `by:${at}:${subject}`;
	if (!first || !(await makeRoom(records, own, pages.length))) return null;
	const id = randomBytes(18).toString('base64url');
	const tags = ['page', own, `of:${id}`];
	const put = (page: Page, index: number): Promise<void> =>
		records.put(`${id}:${index + 1}`, { at, subject, pages: pages.length, ...page }, { tags, ttlMs: KEPT_MS, sealed: ['/body'] });
	try {
		for (let from = 0; from < pages.length; from += WRITTEN_AT_ONCE)
			await Promise.all(pages.slice(from, from + WRITTEN_AT_ONCE).map((page, index) => put(page, from + index)));
	} catch (thrown) {
		// The beginning of the result is worth more to the caller than an error; pages that were written expire.
		if (!asGatewayError(thrown)) throw thrown;
		log.warn({ error: String(thrown) }, 'a result could not be kept');
		return null;
	}
	const bytes = pages.reduce((sum, { body, kind }) => sum + Buffer.byteLength(body, kind === 'blob' ? 'base64' : 'utf8'), 0);
	return { id, pages: pages.length, bytes, mimeType: first.mimeType };
}

/** Reads a page; null when there is none, or it is another caller's. */
export async function keptPage(id: string, page: number, { records, at, subject }: KeptBy): Promise<KeptPage | null> {
	if (!ID.test(id) || !Number.isInteger(page) || page < 1 || page > MOST_OF_CALLER) return null;
	const found = await records.get(`${id}:${page}`);
	if (!found || found.value['at'] !== at || found.value['subject'] !== subject) return null;
	// Only `keepResult` writes such records.
	const { pages, mimeType, kind, body } = found.value as unknown as Page & { pages: number };
	return { page, pages, mimeType, ...(kind === 'text' ? { text: body } : { blob: body }) };
}

/** Removes the caller's oldest results until there is room; those of others stay. */
async function makeRoom(records: Records, own: string, pages: number): Promise<boolean> {
	if (pages > MOST_OF_CALLER) return false;
	for (let kept = await records.count(own, MOST_OF_CALLER + 1); kept + pages > MOST_OF_CALLER; ) {
		const { records: oldest } = await records.find(own, { sort: 'createdAt', limit: 1 });
		const of = oldest[0]?.tags.find((tag) => tag.startsWith('of:'));
		if (of === undefined) break;
		kept -= await records.drop(of);
	}
	return (await records.count('page', MOST_OF_ORGANIZATION)) + pages <= MOST_OF_ORGANIZATION;
}

function pagesOf(block: ContentBlock): Page[] {
	switch (block.type) {
		case 'text':
			return textPages(block.text, 'text/plain');
		case 'resource': {
			const { text, blob, mimeType } = block.resource;
			return text === undefined ? blobPages(blob ?? '', mimeType ?? 'application/octet-stream') : textPages(text, mimeType ?? 'text/plain');
		}
		case 'resource_link':
			return textPages(block.uri, 'text/uri-list');
		default:
			return blobPages(block.data, block.mimeType);
	}
}

function textPages(text: string, mimeType: string): Page[] {
	const pages: Page[] = [];
	for (let start = 0; start < text.length; ) {
		const end = start + PAGE_CHARS;
		// A page ends before a character of two units, not inside of it.
		const cut = end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
		pages.push({ mimeType, kind: 'text', body: text.slice(start, cut) });
		start = cut;
	}
	return pages;
}

/** Each page is base64 of its own, as its length is a multiple of four. */
function blobPages(data: string, mimeType: string): Page[] {
	const pages: Page[] = [];
	for (let start = 0; start < data.length; start += PAGE_CHARS)
		pages.push({ mimeType, kind: 'blob', body: data.slice(start, start + PAGE_CHARS) });
	return pages;
}
