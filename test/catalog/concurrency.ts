// Requests that many clients send at once, and outages of the dependencies. `row` groups the cases of one fault; a test runs each case over
// two replicas, and another counts the rows.

import { randomBytes } from 'node:crypto';
import { addMember } from '../helpers/members.ts';
import { rounds } from '../helpers/sampled.ts';
import { type Account, type Answer, createHttpTool, must } from '../helpers/service.ts';

/** The racers of a race that may have any number: twice as many as two replicas of a test have connections for ordinary statements. */
const MANY = rounds({ few: 16, all: 50 });

export interface Racer {
	method: string;
	path: string;
	body?: unknown;
	headers?: Record<string, string>;
}

export interface Race {
	row: number;
	id: string;
	times: number;
	/** Creates the object of the race. @returns the request of each racer */
	arrange(account: Account): Promise<(at: number) => Racer>;
	/** Status of the winning answers, and how many win; null: at least one. */
	won: number;
	winners: number | null;
	/** Statuses that the losers may get. */
	lost: number[];
	/** Reads the state after the race, which must equal `leaves`. */
	left?: (account: Account, won: Answer[]) => Promise<unknown>;
	leaves?: unknown;
}

const list = async (account: Account, path: string, key: string): Promise<Record<string, string>[]> =>
	must(await account.get(path), 200).body.data[key];
const count =
	(path: (account: Account) => string, key: string) =>
	async (account: Account): Promise<number> =>
		(await list(account, path(account), key)).length;

const gateways = count(() => '/gateways', 'gateways');
const toolsOf = ({ organization }: Account): string => `/organizations/${organization.id}/tools`;
const invitationsOf = ({ organization }: Account): string => `/organizations/${organization.id}/invitations`;
const gateway = (endpoint: string) => ({ name: 'g', type: 'mcp', endpoint });
const API = { name: 'a', type: 'openapi', baseUrl: 'https://example.com' };
const TOOL = { name: 't', type: 'http', executionConfig: { method: 'GET', url: 'https://example.com/' } };

const makeGateway = async (account: Account, endpoint = '/g'): Promise<string> =>
	must(await account.post('/gateways', gateway(endpoint)), 201).body.data.id;
const makeApi = async (account: Account): Promise<string> => must(await account.post('/apis', API), 201).body.data.id;
const makeTools = (account: Account, many: number): Promise<string[]> =>
	Promise.all(Array.from({ length: many }, (_none, at) => createHttpTool(account, { name: `t${at}`, url: 'https://example.com/' })));
const ids = (answers: Answer[], field = 'id'): number => new Set(answers.map(({ body }) => body.data[field])).size;

/** Creates tools and assigns them to a new gateway. @returns the gateway's path for tools, and the ids of the assignments */
async function assigned(account: Account, many: number): Promise<{ path: string; assignments: string[] }> {
	const path = `/gateways/${await makeGateway(account)}/tools`;
	const toolIds = await makeTools(account, many);
	const { tools } = must(await account.post(`${path}/bulk`, { toolIds }), 201).body.data;
	return { path, assignments: tools.map(({ gatewayToolId }: { gatewayToolId: string }) => gatewayToolId) };
}

const CREATIONS: Race[] = [
	{
		row: 90,
		id: 'creations of one endpoint',
		times: MANY,
		arrange: async () => () => ({ method: 'POST', path: '/gateways', body: gateway('/race') }),
		won: 201,
		winners: 1,
		lost: [409],
		left: gateways,
		leaves: 1,
	},
	{
		row: 90,
		id: 'creations of one endpoint, spelt in many ways',
		times: MANY,
		arrange: async () => (at) => ({ method: 'POST', path: '/gateways', body: gateway(['/race', 'race', '/RACE', 'Race'][at % 4] ?? '') }),
		won: 201,
		winners: 1,
		lost: [409],
		left: gateways,
		leaves: 1,
	},
	{
		row: 90,
		id: 'moves of many gateways to one endpoint',
		times: 20,
		arrange: async (account) => {
			const made: string[] = [];
			for (let at = 0; at < 20; at++) made.push(await makeGateway(account, `/g${at}`));
			return (at) => ({ method: 'PATCH', path: `/gateways/${made[at]}`, body: { endpoint: '/race' } });
		},
		won: 200,
		winners: 1,
		lost: [409],
		left: async (account) => (await list(account, '/gateways', 'gateways')).filter(({ endpoint }) => endpoint === '/race').length,
		leaves: 1,
	},
	{
		row: 90,
		id: 'registrations of one address, in either case',
		times: 10,
		arrange: async () => {
			const email = `${randomBytes(6).toString('hex')}@example.com`;
			const person = { password: 'Correct1Horse', firstName: 'A', lastName: 'B', organizationName: 'C' };
			return (at) => ({ method: 'POST', path: '/auth/register', body: { ...person, email: at % 2 ? email : email.toUpperCase() } });
		},
		won: 201,
		winners: 1,
		lost: [409],
	},
	{
		row: 90,
		id: 'organizations of one name, which get a slug each',
		times: MANY,
		arrange: async () => () => ({ method: 'POST', path: '/organizations', body: { name: 'Race' } }),
		won: 201,
		winners: MANY,
		lost: [],
		left: async (_account, won) => ids(won, 'slug'),
		leaves: MANY,
	},
	{
		row: 90,
		id: 'invitations of one address, of which the last waits',
		times: 20,
		arrange: async (account) => () => ({ method: 'POST', path: invitationsOf(account), body: { email: 'guest@example.com' } }),
		won: 201,
		winners: 20,
		lost: [],
		left: count(invitationsOf, 'invitations'),
		leaves: 1,
	},
];

/** Races requests that name the version of one object, of which one may win. */
const versioned = (id: string, make: (account: Account) => Promise<string>): Race => ({
	row: 90,
	id: `changes of one version of ${id}`,
	times: MANY,
	arrange: async (account) => {
		const path = await make(account);
		const etag = must(await account.get(path), 200).headers.get('etag') ?? '';
		return (at) => ({ method: 'PATCH', path, body: { name: `writer ${at}` }, headers: { 'if-match': etag } });
	},
	won: 200,
	winners: 1,
	lost: [412],
});

const CHANGES: Race[] = [
	versioned('a gateway', async (account) => `/gateways/${await makeGateway(account)}`),
	versioned('an API', async (account) => `/apis/${await makeApi(account)}`),
	versioned('a tool', async (account) => `/tools/${(await makeTools(account, 1))[0]}`),
	{
		row: 90,
		id: 'changes and removals of one version of a gateway',
		times: MANY,
		arrange: async (account) => {
			const path = `/gateways/${await makeGateway(account)}`;
			const headers = { 'if-match': must(await account.get(path), 200).headers.get('etag') ?? '' };
			return (at) => (at % 2 ? { method: 'DELETE', path, headers } : { method: 'PATCH', path, headers, body: { name: `writer ${at}` } });
		},
		won: 200,
		winners: 1,
		lost: [404, 412],
	},
	{
		row: 90,
		id: 'changes of a tool that ask for no version, each told its own',
		times: MANY,
		arrange: async (account) => {
			const path = `/tools/${(await makeTools(account, 1))[0]}`;
			return (at) => ({ method: 'PATCH', path, body: { name: `writer_${at}` } });
		},
		won: 200,
		winners: MANY,
		lost: [],
		left: async (_account, won) => [ids(won, 'name'), new Set(won.map(({ headers }) => headers.get('etag'))).size],
		leaves: [MANY, MANY],
	},
];

const once = (id: string, arrange: (account: Account) => Promise<Racer>, left: Race['left'], field = 'id'): Race => ({
	row: 90,
	id: `requests under one Idempotency-Key, to ${id}`,
	times: MANY,
	arrange: async (account) => {
		const racer = await arrange(account);
		const key = { 'idempotency-key': randomBytes(8).toString('hex') };
		return () => ({ ...racer, headers: key });
	},
	won: 201,
	winners: null,
	lost: [409],
	left: async (account, won) => [await left?.(account, won), ids(won, field)],
	leaves: [1, 1],
});

const RETRIES: Race[] = [
	once('make a gateway', async () => ({ method: 'POST', path: '/gateways', body: gateway('/once') }), gateways),
	once(
		'connect an API',
		async () => ({ method: 'POST', path: '/apis', body: API }),
		count(() => '/apis', 'apis'),
	),
	once('make a tool', async (account) => ({ method: 'POST', path: toolsOf(account), body: TOOL }), count(toolsOf, 'tools')),
	once(
		'add an authentication method',
		async (account) => ({ method: 'POST', path: `/gateways/${await makeGateway(account)}/auth`, body: { type: 'api_key' } }),
		async (account) => {
			const [only] = await list(account, '/gateways', 'gateways');
			return (await list(account, `/gateways/${only?.['id']}/auth`, 'authMethods')).length;
		},
	),
	once(
		'assign a tool',
		async (account) => {
			const [toolId] = await makeTools(account, 1);
			return { method: 'POST', path: `/gateways/${await makeGateway(account)}/tools`, body: { toolId } };
		},
		async (account) => (await list(account, '/gateways', 'gateways'))[0]?.['toolCount'],
		'gatewayToolId',
	),
	{
		row: 90,
		id: 'different requests under one Idempotency-Key',
		times: MANY,
		arrange: async () => (at) => ({
			method: 'POST',
			path: '/gateways',
			body: gateway(`/g${at}`),
			headers: { 'idempotency-key': 'shared' },
		}),
		won: 201,
		winners: 1,
		lost: [422],
		left: gateways,
		leaves: 1,
	},
];

/** @param arrange creates the object @returns the paths that name it */
const removed = (id: string, arrange: (account: Account) => Promise<string[]>): Race => ({
	row: 90,
	id: `removals of ${id}`,
	times: 20,
	arrange: async (account) => {
		const paths = await arrange(account);
		return (at) => ({ method: 'DELETE', path: paths[at % paths.length] ?? '' });
	},
	won: 200,
	winners: 1,
	lost: [404],
});

/** @param arrange creates the object @returns its path */
const renamed = (id: string, arrange: (account: Account) => Promise<string>): Race => ({
	row: 90,
	id: `changes of the name of ${id}, each answered with its own name and version`,
	times: MANY,
	arrange: async (account) => {
		const path = await arrange(account);
		return (at) => ({ method: 'PATCH', path, body: { name: `n${at}` } });
	},
	won: 200,
	winners: MANY,
	lost: [],
	left: async (_account, won) => [ids(won, 'name'), new Set(won.map(({ headers }) => headers.get('etag'))).size],
	leaves: [MANY, MANY],
});

const RENAMES: Race[] = [
	renamed('a gateway', async (account) => `/gateways/${await makeGateway(account)}`),
	renamed('an API', async (account) => `/apis/${await makeApi(account)}`),
	renamed('a tool', async (account) => `/tools/${(await makeTools(account, 1))[0]}`),
];

const REMOVALS: Race[] = [
	removed('a gateway', async (account) => [`/gateways/${await makeGateway(account)}`]),
	removed('a gateway with tools', async (account) => [(await assigned(account, 5)).path.replace('/tools', '')]),
	removed('a tool', async (account) => (await makeTools(account, 1)).map((id) => `/tools/${id}`)),
	removed('an API', async (account) => [`/apis/${await makeApi(account)}`]),
	removed('an authentication method', async (account) => {
		const path = `/gateways/${await makeGateway(account)}/auth`;
		return [`${path}/${must(await account.post(path, { type: 'none' }), 201).body.data.id}`];
	}),
	removed('an API key', async (account) => {
		const path = `/gateways/${await makeGateway(account)}/auth/api-keys`;
		return [`${path}/${must(await account.post(path, { name: 'k' }), 201).body.data.id}`];
	}),
	removed('a tool of a gateway, by either of its ids', async (account) => {
		const { path, assignments } = await assigned(account, 1);
		const [{ toolId } = {}] = await list(account, path, 'tools');
		return [`${path}/${assignments[0]}`, `${path}/${toolId}`];
	}),
	removed('an access key', async (account) => [
		`/access-keys/${must(await account.post('/access-keys', { name: 'k' }), 201).body.data.id}`,
	]),
	removed('an invitation', async (account) => {
		const made = must(await account.post(invitationsOf(account), { email: 'guest@example.com' }), 201);
		return [`${invitationsOf(account)}/${made.body.data.id}`];
	}),
	removed('a member', async (account) => {
		const member = await addMember(account, 'member');
		return [`/organizations/${account.organization.id}/members/${must(await member.get('/auth/profile'), 200).body.data.id}`];
	}),
];

const DOCUMENT = JSON.stringify({
	openapi: '3.0.3',
	info: { title: 't', version: '1' },
	paths: Object.fromEntries(
		['a', 'b', 'c'].map((name) => [`/${name}`, { get: { operationId: name, responses: { 200: { description: 'ok' } } } }]),
	),
});

const TOGETHER: Race[] = [
	{
		row: 90,
		id: 'assignments of one tool',
		times: MANY,
		arrange: async (account) => {
			const [toolId] = await makeTools(account, 1);
			const path = `/gateways/${await makeGateway(account)}/tools`;
			return () => ({ method: 'POST', path, body: { toolId } });
		},
		won: 201,
		winners: MANY,
		lost: [],
		left: async (account, won) => [(await list(account, '/gateways', 'gateways'))[0]?.['toolCount'], ids(won, 'gatewayToolId')],
		leaves: [1, 1],
	},
	{
		row: 90,
		id: 'assignments of the same ten tools, each in another order',
		times: 20,
		arrange: async (account) => {
			const tools = await makeTools(account, 10);
			const path = `/gateways/${await makeGateway(account)}/tools/bulk`;
			return (at) => ({ method: 'POST', path, body: { toolIds: [...tools.slice(at % 10), ...tools.slice(0, at % 10)] } });
		},
		won: 201,
		winners: 20,
		lost: [],
		left: async (account) => (await list(account, '/gateways', 'gateways'))[0]?.['toolCount'],
		leaves: 10,
	},
	{
		row: 90,
		id: 'tools of a gateway that take one name, in either case',
		times: 20,
		arrange: async (account) => {
			const { path, assignments } = await assigned(account, 20);
			return (at) => ({ method: 'PATCH', path: `${path}/${assignments[at]}`, body: { name: at % 2 ? 'race' : 'RACE' } });
		},
		won: 200,
		winners: 1,
		lost: [409],
	},
	{
		row: 90,
		id: 'assignments to a gateway that is removed',
		times: 20,
		arrange: async (account) => {
			const [toolId] = await makeTools(account, 1);
			const path = `/gateways/${await makeGateway(account)}`;
			return (at) => (at === 7 ? { method: 'DELETE', path } : { method: 'POST', path: `${path}/tools`, body: { toolId } });
		},
		won: 200,
		winners: 1,
		lost: [201, 404],
		left: gateways,
		leaves: 0,
	},
	{
		row: 90,
		id: 'assignments of a tool that is removed',
		times: 20,
		arrange: async (account) => {
			const [toolId] = await makeTools(account, 1);
			const path = `/gateways/${await makeGateway(account)}/tools`;
			return (at) => (at === 7 ? { method: 'DELETE', path: `/tools/${toolId}` } : { method: 'POST', path, body: { toolId } });
		},
		won: 200,
		winners: 1,
		lost: [201, 404],
		left: async (account) => (await list(account, '/gateways', 'gateways'))[0]?.['toolCount'],
		leaves: 0,
	},
	{
		row: 90,
		id: 'imports of one description',
		times: 6,
		arrange: async (account) => {
			const path = `/apis/${await makeApi(account)}/import-schema`;
			return () => ({ method: 'POST', path, body: { schemaContent: DOCUMENT, generateTools: true } });
		},
		won: 200,
		winners: 6,
		lost: [],
		left: count(toolsOf, 'tools'),
		leaves: 3,
	},
	{
		row: 90,
		id: 'generations of the same tools',
		times: 10,
		arrange: async (account) => {
			const path = `/apis/${await makeApi(account)}`;
			must(await account.post(`${path}/import-schema`, { schemaContent: DOCUMENT }), 200);
			return () => ({ method: 'POST', path: `${path}/generate-tools`, body: {} });
		},
		won: 200,
		winners: 10,
		lost: [],
		left: count(toolsOf, 'tools'),
		leaves: 3,
	},
	{
		row: 91,
		id: 'changes of one member’s role',
		times: 20,
		arrange: async (account) => {
			const member = await addMember(account, 'member');
			const path = `/organizations/${account.organization.id}/members/${must(await member.get('/auth/profile'), 200).body.data.id}`;
			return (at) => ({ method: 'PATCH', path, body: { role: at % 2 ? 'admin' : 'viewer' } });
		},
		won: 200,
		winners: 20,
		lost: [],
		left: count(({ organization }) => `/organizations/${organization.id}/members`, 'members'),
		leaves: 2,
	},
];

export const RACES: Race[] = [...CREATIONS, ...CHANGES, ...RETRIES, ...RENAMES, ...REMOVALS, ...TOGETHER];

/** An outage of a dependency: `cut` refuses and resets connections; `stalled` accepts data and never answers, as a stopped server does. */
export interface Outage {
	row: number;
	id: string;
	postgres: 'cut' | 'stalled';
	redis: 'there' | 'gone';
}

export const OUTAGES: Outage[] = [
	{ row: 95, id: 'PostgreSQL cut off', postgres: 'cut', redis: 'there' },
	{ row: 95, id: 'PostgreSQL stalled', postgres: 'stalled', redis: 'there' },
	{ row: 96, id: 'PostgreSQL cut off and Redis gone', postgres: 'cut', redis: 'gone' },
	{ row: 96, id: 'PostgreSQL stalled and Redis gone', postgres: 'stalled', redis: 'gone' },
];

/** Rows of this part that other tests cover, where their set-up already exists. */
export const HELD_ELSEWHERE: Record<number, string[]> = {
	90: ['test/flows/idempotency.test.ts', 'plugins/features/accounts/login.test.ts'],
	91: ['db/people/members.test.ts', 'plugins/features/organizations/members.test.ts'],
	94: ['test/flows/limit-outages.test.ts'],
	95: ['db/outages.test.ts', 'plugins/features/health/index.test.ts'],
};
