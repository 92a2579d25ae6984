// Records the service's real responses as examples of the document, without anything that depends on the day or the machine.

import { createHash } from 'node:crypto';
import type { RequestRoute } from '@hapi/hapi';
import type { Json, JsonObject } from '../../core/contract/nouns.ts';
import { exampleOf } from './example.ts';
import { type Story, tellStory } from './example-story.ts';
import { BODY_IDS, byRemoval, fill, ids, managementRoutes, nameOf, schemaOf, type Tenant } from './routes.ts';
import { type Answer, send, type TestService } from './service.ts';

/** Complete response bodies by operation id and status. */
export type Examples = Record<string, Record<string, Json>>;

/** The number of items that a list of an example keeps: enough to show what it lists. */
const SHOWN = 2;
const LINES = 6;
const EPOCH = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR_MS = 3_600_000;

/** Secrets are cut after the part that shows their form. */
const SECRETS: [pattern: RegExp, shown: string][] = [
	[/\b(ak_live_|svc_[a-z]+_)[\w-]{16,}/g, '$1...'],
	[/\b(whsec_)[A-Za-z0-9+/]{16,}={0,2}/g, '$1...'],
	[/\b(ak_live_|svc_gw_)[\w-]{4}\b/g, '$14fQz'],
	[/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...'],
];

/** Values that differ between machines and days, by the name of their member. */
const MEASURED: Record<string, Json> = {
	ms: 2,
	duration: 84,
	uptimeSeconds: 86_400,
	freeBytes: 42_949_672_960,
	totalBytes: 107_374_182_400,
	residentBytes: 157_286_400,
	address: '203.0.113.7',
};

/** Orders reads first, then creations and changes, removals last. */
const inOrder = (a: RequestRoute, b: RequestRoute): number =>
	order(a) - order(b) || (a.method === 'delete' ? byRemoval(a, b) : a.path.localeCompare(b.path));
const order = ({ method }: RequestRoute): number => ['get', 'post', 'patch', 'put', 'delete'].indexOf(method);

/** Sends one request to every operation of the management API. @throws Error that names an operation that did not succeed */
export async function recordExamples(service: TestService): Promise<Examples> {
	const story = await tellStory(service);
	try {
		const recorded: Examples = {};
		for (const route of managementRoutes(service).toSorted(inOrder)) {
			const { id, accepted } = route.settings.plugins?.operation ?? {};
			if (id === undefined) continue;
			const answers = [await ask(route, story, service)];
			if (accepted) answers.push(await ask(route, story, service, { prefer: 'respond-async' }));
			recorded[id] = Object.fromEntries(answers.map(({ status, body }) => [status, body]));
		}
		return timeless(recorded, story, service);
	} finally {
		story.end();
	}
}

async function ask(
	route: RequestRoute,
	{ tenant, given }: Story,
	{ url }: TestService,
	more: Record<string, string> = {},
): Promise<Answer> {
	const { query = '', body = shownBody(route, tenant), token, headers = {} } = await given(nameOf(route));
	const isPublic = route.settings.plugins?.operation?.need === 'public';
	const organization = { 'x-organization-id': tenant.account.organization.id };
	const answer = await send(url + fill(route.path, ids(tenant)) + query, route.method.toUpperCase(), {
		...(route.method !== 'get' && body !== undefined && { body }),
		headers: {
			...(!isPublic && { authorization: `Bearer ${token ?? tenant.account.token}` }),
			...(!isPublic && token === undefined && organization),
			...headers,
			...more,
		},
	});
	if (answer.status < 300) return answer;
	throw new Error(`${nameOf(route)} answered ${answer.status}: ${JSON.stringify(answer.body)}; example-story.ts should say what it takes`);
}

/** Returns the body that the operation's page shows, with ids of existing records. */
function shownBody(route: RequestRoute, tenant: Tenant): unknown {
	const schema = schemaOf(route);
	return schema ? exampleOf(schema, (field) => (BODY_IDS[field] === undefined ? undefined : ids(tenant)(BODY_IDS[field]))) : undefined;
}

// ── what is kept of them ───────────────────────────────────────────────────────────────────────────────────────────

/** Replaces what depends on time and place, so that only a change of the API changes the examples. */
function timeless(recorded: Examples, { tenant, petStore }: Story, { url, config }: TestService): Examples {
	const { account } = tenant;
	const start = Date.now();
	const known = new Map<string, string>();
	const replaced: [text: string, by: string][] = [
		[petStore, 'https://petstore.example.com/v1'],
		[url, 'https://gatehouse.example.com'],
		[config.frontendUrl, 'https://console.example.com'],
		[account.email, 'ada@example.com'],
		[account.organization.slug, 'acme'],
		['pets_tool', 'find_pet'],
	];
	const text = (value: string): string => {
		const same = replaced.reduce((so, [from, to]) => so.replaceAll(from, to), value);
		return SECRETS.reduce((so, [pattern, shown]) => so.replaceAll(pattern, shown), same)
			.replaceAll(EMAIL, 'grace@example.com')
			.replaceAll(/127\.0\.0\.1:(?!7777)\d+/g, '127.0.0.1:7777')
			.replaceAll(UUID, (id) => known.get(id) ?? remember(known, id, uuid))
			.replaceAll(TIME, (time) => shift(time, start));
	};
	const short = (id: string): string => known.get(id) ?? remember(known, id, shortId);
	const walk = (value: Json, key = ''): Json => {
		if (typeof value === typeof MEASURED[key]) return MEASURED[key] ?? value;
		if (typeof value === 'string') return text(ID.test(key) || value.includes('\nid: ') ? value.replaceAll(RANDOM, short) : value);
		if (Array.isArray(value)) return shortened(value).map((item) => walk(item));
		if (value === null || typeof value !== 'object') return value;
		return Object.fromEntries(Object.entries(value).map(([name, member]) => [text(name), walk(member, name)]));
	};
	return walk(cut(recorded)) as Examples;
}

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g;
const TIME = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** Ids of plugins' records, where a member or an event has such a name. */
const RANDOM = /(?<=^|^id: )[\w-]{22}(?:[\w-]{21})?$/gm;
const ID = /^id$|Id$/;
/** E-mail addresses of other accounts. */
const EMAIL = /\b[0-9a-f]{12}@example\.com\b/g;

/** Gives an id that depends only on how many came before it. */
function remember(known: Map<string, string>, id: string, make: (hash: Buffer, like: string) => string): string {
	const made = make(createHash('sha512').update(`example ${known.size}`).digest(), id);
	known.set(id, made);
	return made;
}

const shortId = (hash: Buffer, like: string): string => hash.toString('base64url').slice(0, like.length);

function uuid(hash: Buffer): string {
	const hex = hash.toString('hex');
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Moves a time so that its distance from the examples' day equals its distance from now, to the hour. */
const shift = (time: string, start: number): string =>
	time > '2090' ? time : new Date(EPOCH + Math.round((Date.parse(time) - start) / HOUR_MS) * HOUR_MS).toISOString();

const shortened = (list: Json[]): Json[] => (list.every((item) => item !== null && typeof item === 'object') ? list.slice(0, SHOWN) : list);

/** Shortens the document and the page, which would otherwise fill the document; their beginnings are enough. */
function cut(recorded: Examples): JsonObject {
	const lines = (body: Json): Json => (typeof body === 'string' ? body.split('\n').slice(0, LINES).join('\n') : body);
	const whole = mapValues(recorded, (answers) => mapValues(answers, lines));
	const { openapi, info } = (recorded['getDocument']?.['200'] ?? {}) as JsonObject;
	return { ...whole, getDocument: { 200: { openapi: openapi ?? '', info: info ?? {}, paths: {} } } };
}

const mapValues = <A extends Json, B extends Json>(values: Record<string, A>, map: (value: A) => B): Record<string, B> =>
	Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
