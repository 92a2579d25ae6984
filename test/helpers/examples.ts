// What the service really answers, as examples of the document: recorded from a story, with nothing of the day and the machine in it.

import { createHash } from 'node:crypto';
import type { RequestRoute } from '@hapi/hapi';
import type { Json, JsonObject } from '../../core/contract/nouns.ts';
import { exampleOf } from './example.ts';
import { type Story, tellStory } from './example-story.ts';
import { BODY_IDS, byRemoval, fill, ids, managementRoutes, nameOf, schemaOf, type Tenant } from './routes.ts';
import { type Answer, send, type TestService } from './service.ts';

/** By operation id and status: the whole body of an answer. */
export type Examples = Record<string, Record<string, Json>>;

/** Lists of an example are as long as it takes to see what they are lists of. */
const SHOWN = 2;
const LINES = 6;
const EPOCH = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR_MS = 3_600_000;

/** Whatever admits somebody ends where a reader has seen what it is. */
const SECRETS: [pattern: RegExp, shown: string][] = [
	[/\b(ak_live_|svc_[a-z]+_)[\w-]{16,}/g, '$1...'],
	[/\b(ak_live_|svc_gw_)[\w-]{4}\b/g, '$14fQz'],
	[/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...'],
];

/** What is another on each machine and each day, by the name of its member. */
const MEASURED: Record<string, Json> = {
	ms: 2,
	duration: 84,
	uptimeSeconds: 86_400,
	freeBytes: 42_949_672_960,
	totalBytes: 107_374_182_400,
	residentBytes: 157_286_400,
	address: '203.0.113.7',
};

/** Reading first, then making and changing; what removes something last. */
const inOrder = (a: RequestRoute, b: RequestRoute): number =>
	order(a) - order(b) || (a.method === 'delete' ? byRemoval(a, b) : a.path.localeCompare(b.path));
const order = ({ method }: RequestRoute): number => ['get', 'post', 'patch', 'put', 'delete'].indexOf(method);

/** Asks every operation of the management API once. @throws Error naming the one that did not answer that it is done */
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
	const { query = '', body = shownBody(route, tenant), token } = await given(nameOf(route));
	const isPublic = route.settings.plugins?.operation?.need === 'public';
	const organization = { 'x-organization-id': tenant.account.organization.id };
	const answer = await send(url + fill(route.path, ids(tenant)) + query, route.method.toUpperCase(), {
		...(route.method !== 'get' && body !== undefined && { body }),
		headers: {
			...(!isPublic && { authorization: `Bearer ${token ?? tenant.account.token}` }),
			...(!isPublic && token === undefined && organization),
			...more,
		},
	});
	if (answer.status < 300) return answer;
	throw new Error(`${nameOf(route)} answered ${answer.status}: ${JSON.stringify(answer.body)}; example-story.ts should say what it takes`);
}

/** What the page of the operation shows, with ids that are somebody's. */
function shownBody(route: RequestRoute, tenant: Tenant): unknown {
	const schema = schemaOf(route);
	return schema ? exampleOf(schema, (field) => (BODY_IDS[field] === undefined ? undefined : ids(tenant)(BODY_IDS[field]))) : undefined;
}

// ── what is kept of them ───────────────────────────────────────────────────────────────────────────────────────────

/** The same wherever and whenever it was recorded, so that only a change of the API changes it. */
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

/** Ids of plugins' records, where a member or an event is called so. */
const RANDOM = /(?<=^|^id: )[\w-]{22}(?:[\w-]{21})?$/gm;
const ID = /^id$|Id$/;
/** Whoever else was registered. */
const EMAIL = /\b[0-9a-f]{12}@example\.com\b/g;

/** An id that depends on nothing but how many came before it. */
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

/** As far from the day of the examples as it was from now, to the hour. */
const shift = (time: string, start: number): string =>
	time > '2090' ? time : new Date(EPOCH + Math.round((Date.parse(time) - start) / HOUR_MS) * HOUR_MS).toISOString();

const shortened = (list: Json[]): Json[] => (list.every((item) => item !== null && typeof item === 'object') ? list.slice(0, SHOWN) : list);

/** The document and the page would fill the document, and their beginnings tell as much. */
function cut(recorded: Examples): JsonObject {
	const lines = (body: Json): Json => (typeof body === 'string' ? body.split('\n').slice(0, LINES).join('\n') : body);
	const whole = mapValues(recorded, (answers) => mapValues(answers, lines));
	const { openapi, info } = (recorded['getDocument']?.['200'] ?? {}) as JsonObject;
	return { ...whole, getDocument: { 200: { openapi: openapi ?? '', info: info ?? {}, paths: {} } } };
}

const mapValues = <A extends Json, B extends Json>(values: Record<string, A>, map: (value: A) => B): Record<string, B> =>
	Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
