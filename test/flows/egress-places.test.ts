// Tests rows 1 to 13 of the catalog wherever a user's URL enters the service: it is refused when it is saved or called, and nothing is
// sent. The guard itself, with name servers of every kind, is tested in core/egress/egress.test.ts.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { EGRESS_CASES } from '../catalog/egress.ts';
import { issuerKey } from '../helpers/gateway-auth.ts';
import { METADATA, sendForm } from '../helpers/oauth.ts';
import { claimsOf, signedBy } from '../helpers/oauth-signers.ts';
import { rounds } from '../helpers/sampled.ts';
import { type Account, type Answer, createHttpTool, must, publishGateway, send, type TestService } from '../helpers/service.ts';
import { type ShutNetwork, startShutNetwork } from '../helpers/shut-network.ts';

/** The cases that need no name server of their own and no opened range. */
const CASES = EGRESS_CASES.filter(({ answers, allow }) => answers === undefined && allow === undefined);
const ALL = CASES.map(({ input }) => input);
/** Returns so many inputs of each kind. */
const spread = (ofEach: number): string[] =>
	Object.values(Object.groupBy(CASES, ({ id }) => id.split(':')[0] ?? id)).flatMap((kind = []) =>
		kind.slice(0, ofEach).map(({ input }) => input),
	);
const INPUTS = spread(rounds({ few: 3, all: CASES.length }));
/** Inputs for entry points that start a worker each time. */
const FEW = spread(rounds({ few: 1, all: 3 }));
const ELSEWHERE = INPUTS.filter(isElsewhere);

/** Tells whether the URL leads to another origin. Relative ones stay at the open origin; an invalid header line cannot be redirected to. */
function isElsewhere(url: string): boolean {
	const [sent, base] = [url.replace('{port}', '1'), 'http://base.example'];
	return URL.canParse(sent, base) && new URL(sent, base).origin !== base && !/[^\x20-\x7e]/.test(url);
}

let network: ShutNetwork;
let service: TestService;
let account: Account;
/** The only address that may be called; `/to?<url>` redirects, `/wsdl` answers with `document`. */
let open: { origin: string };
let document = '';
/** A server on every address of the machine that must never see a connection. */
let canary: { port: number; connections: number };

before(async () => {
	network = await startShutNetwork((request, response) => {
		const [path, query = ''] = (request.url ?? '').split('?');
		if (path === '/to') return void response.writeHead(302, { location: decodeURIComponent(query) }).end();
		if (path === '/wsdl') return void response.setHeader('content-type', 'text/xml').end(document);
		response.setHeader('content-type', 'application/json').end('{"data":{"ok":true}}');
	});
	({ service, account, canary } = network);
	open = network;
});
after(() => network.stop());

const connectApi = async (type: string): Promise<string> =>
	must(await account.post('/apis', { name: 'a', type, baseUrl: open.origin }), 201).body.data.id;
const urlOf = (input: string): string => input.replace('{port}', String(canary.port));
const toolsPath = (): string => `/organizations/${account.organization.id}/tools`;
const runTool = (id: string, parameters: object = {}): Promise<Answer> => account.post(`${toolsPath()}/${id}/execute`, { parameters });
const graphqlTool = (endpoint: string): object => ({
	name: 'g',
	type: 'graphql',
	executionConfig: { endpoint, query: 'query { ok }' },
});

/** Stores a base URL without the check, as if its name had led elsewhere when it was saved. */
async function writeBaseUrl(id: string, baseUrl: string): Promise<void> {
	const { host, port, username, password, name } = service.config.database ?? assert.fail();
	const client = new pg.Client({ host, port, user: username, password, database: name });
	await client.connect();
	try {
		await client.query('UPDATE apis SET base_url = $2 WHERE id = $1', [id, baseUrl]);
	} finally {
		await client.end();
	}
}

interface UrlEntryPoint {
	name: string;
	/** The inputs to try; all of them by default. */
	inputs?: string[];
	/** @returns a function that submits a URL there */
	open(): Promise<(url: string) => Promise<Answer>>;
}

/** Entry points at which a URL is saved or fetched at once: the answer is a 400. */
const SAVED: UrlEntryPoint[] = [
	{
		name: 'baseUrl of a new API',
		inputs: ALL,
		open: async () => (baseUrl) => account.post('/apis', { name: 'x', type: 'openapi', baseUrl }),
	},
	{
		name: 'baseUrl of a gRPC API',
		open: async () => (baseUrl) => account.post('/apis', { name: 'x', type: 'protobuf', baseUrl }),
	},
	{
		name: 'baseUrl of a gRPC API that is changed',
		async open() {
			const id = await connectApi('protobuf');
			return (baseUrl) => account.patch(`/apis/${id}`, { baseUrl });
		},
	},
	{
		name: 'baseUrl of an API that is changed',
		async open() {
			const id = await connectApi('openapi');
			return (baseUrl) => account.patch(`/apis/${id}`, { baseUrl });
		},
	},
	{
		name: 'tokenUrl of a credential',
		async open() {
			const id = await connectApi('openapi');
			return (tokenUrl) =>
				account.post(`/apis/${id}/credentials`, { type: 'oauth2', credentials: { tokenUrl, clientId: 'c', clientSecret: 's' } });
		},
	},
	{
		name: 'url of a new http tool',
		open: async () => (url) => account.post(toolsPath(), { name: 't', type: 'http', executionConfig: { method: 'GET', url } }),
	},
	{
		name: 'url of an http tool that is changed',
		async open() {
			const id = await createHttpTool(account, { name: 't', url: open.origin });
			return (url) => account.patch(`/tools/${id}`, { executionConfig: { method: 'GET', url } });
		},
	},
	{
		name: 'endpoint of a new graphql tool',
		open: async () => (endpoint) => account.post(toolsPath(), graphqlTool(endpoint)),
	},
	{
		name: 'endpoint of a graphql tool that is changed',
		async open() {
			const { id } = must(await account.post(toolsPath(), graphqlTool(open.origin)), 201).body.data;
			return (endpoint) => account.patch(`/tools/${id}`, { executionConfig: { endpoint, query: 'query { ok }' } });
		},
	},
	...['openai', 'anthropic', 'custom', 'local'].map((provider) => ({
		name: `baseUrl of a new LLM provider, ${provider}`,
		open: async () => (baseUrl: string) => account.post('/llm-providers', { name: 'm', provider, apiKey: 'k', baseUrl }),
	})),
	{
		name: 'baseUrl of an LLM provider that is changed',
		async open() {
			const body = { name: 'm', provider: 'custom', apiKey: 'k', baseUrl: open.origin };
			const { id } = must(await account.post('/llm-providers', body), 201).body.data;
			return (baseUrl) => account.patch(`/llm-providers/${id}`, { baseUrl, apiKey: 'k' });
		},
	},
	{
		name: 'jwksUrl of an authentication method',
		async open() {
			const { id } = await publishGateway(account);
			return (jwksUrl) => account.post(`/gateways/${id}/auth`, { type: 'jwt', configuration: { jwksUrl } });
		},
	},
	{
		name: 'schemaUrl of an OpenAPI import',
		inputs: FEW,
		async open() {
			const id = await connectApi('openapi');
			return (schemaUrl) => account.post(`/apis/${id}/import-schema`, { schemaUrl });
		},
	},
	{
		name: 'schemaUrl of a GraphQL import',
		inputs: FEW,
		async open() {
			const id = await connectApi('graphql');
			return (schemaUrl) => account.post(`/apis/${id}/import-schema`, { schemaUrl });
		},
	},
	{
		name: 'schemaUrl of a SOAP import',
		inputs: FEW,
		async open() {
			const id = await connectApi('soap');
			return (schemaUrl) => account.post(`/apis/${id}/import-schema`, { schemaUrl });
		},
	},
	{
		name: 'schemaUrl of a Protobuf import',
		inputs: FEW,
		async open() {
			const id = await connectApi('protobuf');
			return (schemaUrl) => account.post(`/apis/${id}/import-schema`, { schemaUrl });
		},
	},
	{
		name: 'schemaUrl that redirects there',
		inputs: FEW.filter(isElsewhere),
		async open() {
			const id = await connectApi('openapi');
			return (url) => account.post(`/apis/${id}/import-schema`, { schemaUrl: `${open.origin}/to?${encodeURIComponent(url)}` });
		},
	},
];

/** Entry points at which the URL is known only when a tool runs: the run fails. */
const CALLED: UrlEntryPoint[] = [
	{
		name: 'the base URL of a gRPC tool, whose name leads there by now',
		// URLs in other forms are never base URLs.
		inputs: ELSEWHERE.filter((input) => /^https?:\/\/[^\\@]*$/.test(input) && URL.canParse(input.replace('{port}', '1'))),
		async open() {
			const id = await connectApi('protobuf');
			const schemaContent = 'syntax = "proto3"; service S { rpc Do(M) returns (M); } message M { string a = 1; }';
			must(await account.post(`/apis/${id}/import-schema`, { schemaContent, generateTools: true }), 200);
			const [tool] = must(await account.get(`${toolsPath()}?apiId=${id}`), 200).body.data.tools;
			return async (url) => {
				await writeBaseUrl(id, urlOf(url));
				return runTool(tool.id, { a: 'x' });
			};
		},
	},
	{
		name: 'a redirect of what an http tool calls',
		async open() {
			const parameters = { type: 'object', properties: { to: { type: 'string' } } };
			const id = await createHttpTool(account, { name: 't', url: `${open.origin}/to?{to}`, parameters });
			return (to) => runTool(id, { to });
		},
	},
	{
		name: 'a redirect of what a graphql tool calls',
		open: async () => async (url) => {
			const tool = await account.post(toolsPath(), graphqlTool(`${open.origin}/to?${encodeURIComponent(url)}`));
			return runTool(must(tool, 201).body.data.id);
		},
	},
	{
		name: 'a server that an API’s description names for one operation',
		// URLs in other forms are no servers: the importer reports them, and the API's own URL is used.
		inputs: ELSEWHERE.filter((input) => /^https?:\/\/[^\\@]*$/.test(input)),
		async open() {
			const id = await connectApi('openapi');
			const urls = ELSEWHERE.map(urlOf);
			const paths = urls.map((url, at) => {
				const operation = { operationId: `x${at}`, servers: [{ url }], responses: { 200: { description: 'ok' } } };
				return [`/x${at}`, { get: operation }];
			});
			const document = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: Object.fromEntries(paths) };
			const body = { schemaContent: JSON.stringify(document), generateTools: true };
			must(await account.post(`/apis/${id}/import-schema`, body), 200);
			const ids = await toolIdsOf(id);
			return (url) => runTool(ids.get(`x${urls.indexOf(url)}`) ?? '');
		},
	},
	{
		name: 'the address of a port, in a SOAP API’s description',
		// URLs in other forms are no addresses: the API's own URL is used.
		inputs: ELSEWHERE.filter((input) => /^https?:\/\/[^\\@#\s]*$/.test(input)),
		async open() {
			const id = await connectApi('soap');
			const urls = ELSEWHERE.map(urlOf);
			const services = urls.map((url, at) => `<service name="S${at}">${portOf(url)}</service>`).join('');
			const schemaContent = wsdlWith({ services: `<service name="First">${portOf(`${open.origin}/`)}</service>${services}` });
			must(await account.post(`/apis/${id}/import-schema`, { schemaContent, generateTools: true }), 200);
			const ids = await toolIdsOf(id);
			const operations = must(await account.get(`/apis/${id}/operations?limit=100`), 200).body.data;
			const names = new Map<string, string>();
			for (let page = operations; ; ) {
				for (const { key, name } of page.operations) names.set(key, name);
				if (page.nextCursor === null) break;
				page = must(await account.get(`/apis/${id}/operations?limit=100&cursor=${page.nextCursor}`), 200).body.data;
			}
			return (url) => runTool(ids.get(names.get(`S${urls.indexOf(url)}/P/Do`) ?? '') ?? '');
		},
	},
];

const escaped = (url: string): string => url.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const portOf = (url: string): string => `<port name="Q" binding="t:B"><soap:address location="${escaped(url)}"/></port>`;

function wsdlWith({ schema = '', imports = '', services = `<service name="S">${portOf('http://t.example/')}</service>` }): string {
	return `<definitions targetNamespace="urn:t" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:t="urn:t" xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/">${imports}
<types><xs:schema targetNamespace="urn:t">${schema}<xs:element name="Do"><xs:complexType/></xs:element></xs:schema></types><message name="In"><part name="p" element="t:Do"/></message>
<portType name="P"><operation name="Do"><input message="t:In"/></operation></portType><binding name="B" type="t:P"><soap:binding transport="http://schemas.xmlsoap.org/soap/http"/>
<operation name="Do"><soap:operation soapAction=""/><input><soap:body use="literal"/></input></operation></binding>${services}</definitions>`;
}

/** Returns the ids of an API's tools by name. */
async function toolIdsOf(apiId: string): Promise<Map<string, string>> {
	const ids = new Map<string, string>();
	for (let cursor = ''; ; ) {
		const { tools, nextCursor } = must(await account.get(`${toolsPath()}?apiId=${apiId}${cursor}`), 200).body.data;
		for (const tool of tools) ids.set(tool.name, tool.id);
		if (nextCursor === null) return ids;
		cursor = `&cursor=${nextCursor}`;
	}
}

describe('where it is saved or fetched at once, it is a 400, and nothing is sent', () => {
	for (const entryPoint of SAVED) {
		const { name, inputs = INPUTS } = entryPoint;
		test(`${name}: ${inputs.length} inputs`, async () => {
			const hand = await entryPoint.open();
			for (const input of inputs) {
				const { status, body } = await hand(urlOf(input));
				assert.equal(status, 400, `${input}: ${JSON.stringify(body)}`);
				assert.ok(['EGRESS_REFUSED', 'VALIDATION_FAILED', 'SCHEMA_INVALID'].includes(body.error), `${input}: ${body.error}`);
			}
			assert.equal(canary.connections, 0);
		});
	}
});

/** The faults of a call whose own time, or that of its connection, is over while the name is asked for. */
const SLOW_NAME = /^good\.example did not answer (?:in time|completely within 5000 ms)\.$/;

describe('where it is only known when a tool runs, the run failed, and nothing is sent', () => {
	for (const entryPoint of CALLED) {
		const { name, inputs = ELSEWHERE } = entryPoint;
		test(`${name}: ${inputs.length} inputs`, async () => {
			const hand = await entryPoint.open();
			for (const input of inputs) {
				const { body } = must(await hand(urlOf(input)), 200);
				assert.equal(body.data.status, 'failed', `${input}: ${JSON.stringify(body)}`);
				const codes = ['EGRESS_REFUSED', 'UPSTREAM_FAILED', 'VALIDATION_FAILED'];
				// The machine's own resolver may take longer than a call to say that it does not know the name; an address is never waited for.
				if (SLOW_NAME.test(body.data.error.message)) codes.push('UPSTREAM_TIMEOUT');
				assert.ok(codes.includes(body.data.error.code), JSON.stringify(body));
			}
			assert.equal(canary.connections, 0);
		});
	}
});

test(`what a WSDL or its schemas import is left out where the guard refuses it, and nothing is sent: ${ELSEWHERE.length} inputs, twice`, async () => {
	const urls = ELSEWHERE.map(urlOf);
	/** The importer reads so many files for one document. */
	const MAX_DOCUMENTS = 50;
	for (let at = 0; at < urls.length; at += MAX_DOCUMENTS) {
		const some = urls.slice(at, at + MAX_DOCUMENTS).map(escaped);
		const imports = some.map((url) => `<import namespace="urn:o" location="${url}"/>`).join('');
		const schema = some.map((url) => `<xs:import namespace="urn:o" schemaLocation="${url}"/>`).join('');
		for (const parts of [{ imports }, { schema }]) {
			document = wsdlWith(parts);
			const id = await connectApi('soap');
			const { report } = must(await account.post(`/apis/${id}/import-schema`, { schemaUrl: `${open.origin}/wsdl` }), 200).body.data;
			assert.equal(report.counts.operations, 1);
			assert.ok(!JSON.stringify(report.warnings).includes('only 50 documents are read'));
			assert.ok(report.warnings.length > 0);
		}
	}
	assert.equal(canary.connections, 0);
});

test(`jwks_uri of an OAuth client is refused where it registers, or its keys cannot be read where it signs: ${INPUTS.length} inputs`, async () => {
	const { url: gateway } = await publishGateway(account, { auth: 'oauth2' });
	const key = issuerKey('ES256', 'k');
	let asked = 0;
	// Most http URLs are refused at once, so each is tried over https as well.
	for (const input of new Set([...INPUTS, ...INPUTS.map((one) => one.replace(/^http:/, 'https:'))])) {
		const metadata = { ...METADATA, token_endpoint_auth_method: 'private_key_jwt', jwks_uri: urlOf(input) };
		const { status, body } = await send(`${gateway}/register`, 'POST', { body: metadata });
		if (status === 400) assert.match(body.error_description, /^(jwks_uri|the metadata) must be/, input);
		if (status === 400) continue;
		assert.equal(status, 201, `${input}: ${JSON.stringify(body)}`);
		const assertion = key.token(claimsOf(body.client_id, gateway));
		const refused = must(await sendForm(`${gateway}/token`, { grant_type: 'refresh_token', ...signedBy(assertion) }), 401);
		assert.equal(refused.body.error_description, 'the keys of the client cannot be read', input);
		asked += 1;
	}
	assert.ok(asked >= rounds({ few: 12, all: 50 }), `${asked} were stored`);
	assert.equal(canary.connections, 0);
});

test('the canary counts connections that nothing stops', async () => {
	await send(`http://127.0.0.1:${canary.port}/`, 'GET');
	await send(`http://[::1]:${canary.port}/`, 'GET');
	assert.equal(canary.connections, 2);
});

test('every entry point is counted', (t) => {
	const saved = SAVED.reduce((sum, { inputs = INPUTS }) => sum + inputs.length, 0);
	const count = CALLED.reduce((sum, { inputs = ELSEWHERE }) => sum + inputs.length, saved);
	t.diagnostic(`${count} attempts at ${SAVED.length + CALLED.length} entry points`);
	assert.ok(
		ALL.length >= 100 && INPUTS.length >= rounds({ few: 30, all: 100 }) && count >= rounds({ few: 500, all: 1_200 }),
		String(count),
	);
});
