// The skills of a gateway, by its discovery index (agent-skills-discovery-rfc 0.2.0): what is read is what the digest says.

import { createHash } from 'node:crypto';
import { UsageError } from '../gateway/address.ts';
import { type Asked, Refusal, refusalOf, unreachable } from '../gateway/refusals.ts';
import { isObject } from '../wire/messages.ts';
import { type Files, MAX_ARCHIVE_BYTES, readArchive } from './archives.ts';

const PATIENCE_MS = 60_000;
const INDEX = '/.well-known/agent-skills/index.json';
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MAX_NAME = 64;

export interface Published {
	name: string;
	type: 'archive' | 'skill-md';
	url: string;
	digest: string;
}

/** The URL of a gateway, and what opens it. */
export interface Source extends Asked {
	/** The credential, for a gateway that asks for one; null without a login. */
	token: string | null;
}

/** Reads the index. @throws UsageError, Refusal */
export async function readIndex(source: Source): Promise<Published[]> {
	const noIndex = () => new UsageError(`There is no index of skills at ${source.url}: is it a gateway of type skills?`);
	const bytes = await read(source.url + INDEX, source).catch(async (error: unknown) => {
		const isMissing = error instanceof Refusal && error.kind === 'missing';
		// A gateway of another type has no index, but answers at its address.
		throw isMissing && (await answers(source.url)) ? noIndex() : error;
	});
	const skills = listOf(bytes.toString('utf8'));
	if (!skills) throw noIndex();
	return skills.map((one) => readEntry(one, source.url));
}

async function answers(url: string): Promise<boolean> {
	const response = await get(url, null);
	await response.body?.cancel();
	return response.status !== 404;
}

function listOf(text: string): unknown[] | null {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) && Array.isArray(value['skills']) ? value['skills'] : null;
	} catch {
		return null;
	}
}

function readEntry(entry: unknown, url: string): Published {
	const { name, type, url: path, digest } = isObject(entry) ? entry : {};
	const isNamed = typeof name === 'string' && name.length <= MAX_NAME && NAME.test(name);
	const isKnown =
		(type === 'archive' || type === 'skill-md') && typeof path === 'string' && typeof digest === 'string' && DIGEST.test(digest);
	if (!isNamed || !isKnown || !URL.canParse(path, url + INDEX)) throw new UsageError('The index has a skill that cannot be installed.');
	const target = new URL(path, url + INDEX);
	// The credential, and what is run later, come from the gateway alone.
	if (target.origin !== new URL(url).origin) throw new UsageError(`The index names a file of another host, ${target.host}.`);
	return { name, type, url: target.href, digest };
}

/** Fetches a skill. @throws UsageError when its bytes are not those of the digest */
export async function fetchSkill({ name, type, url, digest }: Published, source: Source): Promise<Files> {
	const bytes = await read(url, source);
	const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
	if (found !== digest) throw new UsageError(`The skill ${name} is not what the index says: its digest differs. Nothing was written.`);
	return type === 'archive' ? readArchive(bytes) : new Map([['SKILL.md', bytes]]);
}

/** Reads bytes; the credential is sent only where it is asked for. */
async function read(url: string, { token, advice }: Source): Promise<Buffer> {
	const first = await get(url, null);
	if (first.status !== 401) return bodyOf(first, { url, advice });
	await first.body?.cancel();
	if (token === null) throw new Refusal('credential', `${new URL(url).host} asks for a credential. ${advice}`);
	return bodyOf(await get(url, token), { url, advice });
}

async function get(url: string, token: string | null): Promise<Response> {
	const headers = { accept: '*/*', ...(token !== null && { authorization: `Bearer ${token}` }) };
	return fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) }).catch((error) => {
		throw unreachable(error, url);
	});
}

async function bodyOf(response: Response, { url, advice }: Asked): Promise<Buffer> {
	const parts: Uint8Array[] = [];
	let bytes = 0;
	try {
		for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
			bytes += part.length;
			if (bytes > MAX_ARCHIVE_BYTES) throw new UsageError(`${url} has more than 16 MiB.`);
			parts.push(part);
		}
	} catch (error) {
		throw error instanceof UsageError ? error : unreachable(error, url);
	}
	const body = Buffer.concat(parts);
	if (!response.ok) throw refusalOf(response, body.toString('utf8'), { url, advice });
	return body;
}
