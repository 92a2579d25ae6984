// The suites are tested by plugins with one fault each: the run of its suite, in another process, must fail at the test that is for it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { testDatabase } from '../test/helpers/postgres.ts';
import { type TestRedis, testRedis } from '../test/helpers/redis.ts';
import { isSampled } from '../test/helpers/sampled.ts';
import { databaseVariables, SECRETS } from '../test/helpers/service.ts';

const entry = (path: string): string => new URL(path, import.meta.url).href;
const COMMON = `
import Joi from '${import.meta.resolve('joi')}';
import * as kit from '${entry('./index.ts')}';
const OPERATOR = Joi.object({ region: Joi.string().default('eu').description('Where it runs.') });
const executor = (more) => ({ kind: 'executor', api: 1, name: 'x', summary: 'Echoes a text.',
	config: Joi.object({ url: Joi.string().required().description('Where.'), n: Joi.number().description('A number.'), key: Joi.string().meta({ secret: true }).description('A key.') }),
	execute: async (args, { url }, call) => {
		const { status, body } = await call.request({ method: 'POST', url, body: JSON.stringify(args), signal: call.signal });
		if (status !== 200) return { content: [{ type: 'text', text: 'It failed.' }], isError: true };
		return { content: [{ type: 'text', text: body.toString() }], structured: JSON.parse(body) };
	}, ...more });
const speaks = { echo: (body) => ({ type: 'application/json', body: body || '{}' }), fail: { status: 500, type: 'application/json', body: '{}' },
	tell: (request) => ({ type: 'application/json', body: request }), endless: { type: 'application/json', begin: '[1', piece: ',1' } };
const holdExecutor = (more) => kit.executorContract(executor(more), {
	start: (t, behaviour) => kit.httpBehaviour(t, behaviour, speaks), config: (origin, more) => ({ url: origin, ...more }),
	secretConfig: (origin) => ({ url: origin, key: 'k' }), echoed: ({ structured }) => structured.text,
	bad: [{ config: {}, says: /"url" is required/ }, { config: { url: 1 }, says: /must be a string/ }, { config: { url: 'x', n: 'x' }, says: /must be a number/ }],
	timeoutField: null, signed: null, hasAddress: false });
const auth = (more) => ({ kind: 'auth', api: 1, name: 'x', summary: 'Admits holders of a token.',
	config: Joi.object({ token: Joi.string().required().meta({ secret: true }).description('The token.') }),
	authenticate: async ({ headers }, { token }) => {
		if (headers.authorization === undefined) return null;
		if (headers.authorization !== 'Bearer ' + token) throw Object.assign(new kit_core.GatewayError('unauthorized', 'No.'));
		return { method: 'x', subject: 'holder', scopes: ['tools:read'] };
	}, ...more });
import * as kit_core from '${entry('../core/index.ts')}';
const holdAuth = (more) => kit.authContract(auth(more), { config: { token: 'abc' },
	bad: [{ config: {}, says: /required/ }, { config: { token: 1 }, says: /string/ }],
	admitted: [{ headers: { authorization: 'Bearer abc' } }], refused: [{ headers: { authorization: 'Bearer x' } }] });
const transport = (more) => ({ kind: 'transport', api: 1, name: 'x', summary: 'Runs the tool echo.',
	config: Joi.object({ title: Joi.string().description('A title.'), key: Joi.string().meta({ secret: true }).description('A key.') }),
	routes: [{ method: 'POST', path: '/', body: 'json', handler: async ({ body }, config, call) => {
		const text = typeof body?.text === 'string' ? body.text : 'x';
		return { status: 200, body: { said: (await call.invoke({ name: 'echo' }, { text })).content } };
	} }], ...more });
const holdTransport = (more) => kit.transportContract(transport(more), { config: { title: 'T', key: 'k' },
	bad: [{ config: { title: 1 }, says: /string/ }, { config: { key: 1 }, says: /string/ }],
	samples: [{ name: 'a call', method: 'POST', path: '/', request: { body: { text: 'hello' } }, status: 200, has: 'hello' },
		{ name: 'another call', method: 'POST', path: '/', request: { body: { text: 'good bye' } }, status: 200, has: 'good bye' }] });
const importer = (more) => ({ kind: 'importer', api: 1, name: 'x', summary: 'Imports one operation a line.',
	config: Joi.object({ prefix: Joi.string().description('A prefix.'), key: Joi.string().meta({ secret: true }).description('A key.') }),
	detect: (text) => (text.startsWith('# x\\n') ? 1 : 0),
	async *parse({ text }) {
		if (!text.startsWith('# x\\n')) throw new kit_core.GatewayError('schema_invalid', 'It does not begin with the head.');
		const lines = text.split('\\n').slice(1).filter((line) => line !== '');
		for (const [at, line] of lines.entries()) {
			const [, word, about] = /^([a-z]{1,20}) ?(.*)$/.exec(line) ?? [];
			if (word === undefined) throw new kit_core.GatewayError('schema_invalid', 'Line ' + (at + 2) + ' is no operation.');
			if (lines.findIndex((one) => one.split(' ')[0] === word) < at) continue;
			yield { key: word, name: word, method: 'GET', path: '/' + word, description: kit_core.cleanText(about, 1000), operationId: null, tags: [], deprecated: false,
				parameters: { type: 'object', properties: {} }, outputSchema: null, definition: {}, outcome: 'converted', reasons: [] };
		}
		return { format: 'x', title: null, version: null, servers: [] };
	},
	tool: ({ name, description, parameters, outputSchema }) => ({ name, description, parameters, outputSchema, executor: 'x', annotations: { readOnlyHint: true }, executionConfig: { url: 'https://api.example.com' } }), ...more });
const holdImporter = (more) => kit.importerContract(importer(more), { executors: [executor()],
	samples: [{ name: 'two', text: '# x\\na One.\\nb Two.', operations: 2, shuffled: '# x\\nb Two.\\na One.' }, { name: 'one', text: '# x\\na One.', operations: 1, shuffled: null }],
	foreign: ['{"a":1}'], broken: [{ text: '# x\\na\\n%', at: /Line 3/ }], described: (text) => '# x\\na ' + text.replace(/\\n/g, ' ') });
const node = (more) => ({ kind: 'node', api: 1, name: 'x', summary: 'Repeats a value.', effect: 'none',
	config: Joi.object({ value: Joi.string().required().description('A value.'), auth: Joi.object({ key: Joi.string().meta({ secret: true }).description('A key.') }).description('Who calls.') }),
	run: async (input, { value }, call) => ({ output: call.fill(value) }), ...more });
const holdNode = (more) => kit.nodeContract(node(more), {
	bad: [{ config: {}, says: /required/ }, { config: { value: 1 }, says: /string/ }],
	samples: [{ name: 'a value', config: () => ({ value: 'v' }), effect: 'none', input: { input: null, from: [] }, expected: { output: 'v' } }] });
`;
/** A provider that keeps the contract, and its server. */
const PROVIDER = `
import { modelServer } from '${entry('../test/helpers/models.ts')}';
import provider from '${entry('../test/fixtures/model-plugin/provider.js')}';
const holdProvider = (more) => kit.providerContract({ ...provider, ...more }, { start: modelServer, config: (origin) => ({ baseUrl: origin, apiKey: kit.KEY }),
	bad: [{ config: { apiKey: 'x' }, says: /required/ }, { config: { baseUrl: 1 }, says: /string/ }], priced: 'acme-own' });
`;
/** A feature that keeps notes of organizations, each with a word that nobody is told. */
const FEATURE = `
import * as core from '${entry('../core/features.ts')}';
const NOTE = Joi.object({ name: Joi.string().required() }).meta({ schema: 'Note' });
const put = ({ records }, more) => core.operation({ method: 'PUT', path: '/acme-notes/{name}', id: 'putNote', summary: 'Writes a note.', need: 'acme-notes:write', answer: NOTE,
	body: core.body({ word: Joi.string().required().meta({ secret: true }) }),
	async handler(request) {
		await records(core.organizationOf(request).id).put(request.params.name, { word: request.payload.word }, { sealed: ['/word'] });
		return { name: request.params.name };
	}, ...more });
const get = ({ records }, more) => core.operation({ method: 'GET', path: '/acme-notes/{name}', id: 'getNote', summary: 'Reads a note.', need: 'acme-notes:read', answer: NOTE,
	async handler(request) {
		if (!(await records(core.organizationOf(request).id).get(request.params.name))) throw core.notFound('Note');
		return { name: request.params.name };
	}, ...more });
const feature = (routes, more) => ({ kind: 'feature', api: 1, name: 'acme_notes', summary: 'Keeps notes.', segments: ['acme-notes'],
	permissions: { 'acme-notes:write': 'admin', 'acme-notes:read': 'viewer' },
	config: Joi.object({ max: Joi.number().default(3).description('A number.') }),
	jobs: { count: { run: async ({ n }) => n + 1 } },
	register(server, config, given) {
		const parts = { records: (organizationId) => given.recordsOf({ organizationId }), config, core: given };
		server.route(routes?.(parts) ?? [put(parts), get(parts)]);
	}, ...more });
const withKey = Joi.object({ max: Joi.number().default(3).description('A number.'), key: Joi.string().meta({ secret: true }).description('A key.') });
const holdFeature = (routes, more, plugin = feature(routes, more)) => kit.featureContract(plugin, { config: { max: 2 }, service: { plugins: [plugin], env: JSON.parse(process.env.TEST_SERVICE) },
	bad: [{ config: { max: 'x' }, says: /number/ }, { config: { max: [] }, says: /number/ }], jobs: [{ name: 'count', data: { n: 1 }, output: 2 }],
	samples: [{ name: 'a note', method: 'PUT', path: '/acme-notes/a', body: { word: 'w' }, status: 200, strangers: 200 },
		{ name: 'the note', method: 'GET', path: '/acme-notes/a', status: 200, has: '"name":"a"' }].slice(0, more?.samples) });
`;

/** The suites of the kinds, with a fault of the plugin, and the test that shows it; null: there is none. */
const CASES: [what: string, code: string, shown: RegExp | null][] = [
	['an executor that keeps the contract', 'holdExecutor({})', null],
	[
		'an executor that shows its secret in the log',
		`holdExecutor({ execute: async (a, c, call) => { call.log.info({ c }, 'config'); return executor().execute(a, c, call); } })`,
		/a secret of the config is in no result/,
	],
	[
		'an executor that shows its secret in an error, encoded',
		`holdExecutor({ execute: async (a, c, call) => { if (c.key) throw new kit_core.GatewayError('upstream_failed', 'Refused: ' + btoa('ada:' + c.key)); return executor().execute(a, c, call); } })`,
		/a secret of the config is in no result/,
	],
	[
		'an executor that goes round the guard',
		`holdExecutor({ execute: async (a, { url }) => ({ content: [{ type: 'text', text: await (await fetch(url, { method: 'POST', body: JSON.stringify(a), signal: AbortSignal.timeout(300) })).text() }] }) })`,
		/the guard refuses/,
	],
	[
		'an executor that leaves members of its result undefined',
		`holdExecutor({ execute: async (a, c, call) => ({ isError: undefined, logs: undefined, ...(await executor().execute(a, c, call)) }) })`,
		null,
	],
	[
		'an executor whose image is a number',
		`holdExecutor({ execute: async (a, c, call) => { const { content, structured } = await executor().execute(a, c, call); return { content: [...content, { type: 'image', data: 12, mimeType: 'image/png' }], structured }; } })`,
		/an answer becomes content/,
	],
	['an executor whose preview is a list', `holdExecutor({ preview: async (args) => [args.text] })`, /its preview shows the request/],
	[
		'an executor that changes its config when a run fails',
		`holdExecutor({ execute: async (a, c, call) => { const result = await executor().execute(a, c, call); if (result.isError) c.n = 1; return result; } })`,
		/an upstream that does “fail”/,
	],
	['an executor that returns no content', `holdExecutor({ execute: async () => ({ content: [] }) })`, /an answer becomes content/],
	[
		'an executor that changes its arguments',
		`holdExecutor({ execute: async (a, c, call) => { a.more = 1; return executor().execute(a, c, call); } })`,
		/what was given stays as it was/,
	],
	[
		'an executor that saves by the defaults of its operator',
		`holdExecutor({ operator: OPERATOR, check: async (c, context) => void context.operator.region.trim() })`,
		null,
	],
	[
		'a field without a description',
		`holdExecutor({ config: Joi.object({ url: Joi.string().required(), n: Joi.number(), key: Joi.string().meta({ secret: true }) }) })`,
		/what it is for/,
	],
	['a method that keeps the contract', 'holdAuth({})', null],
	[
		'a method that admits everyone',
		`holdAuth({ authenticate: async () => ({ method: 'x', subject: 'holder', scopes: [] }) })`,
		/a request without a credential/,
	],
	[
		'a method that changes its config',
		`holdAuth({ authenticate: async (request, c) => { c.uses = 1 + (c.uses ?? 0); return auth().authenticate(request, c); } })`,
		/gives a caller that core takes/,
	],
	['a method that answers whether the body is right', `holdAuth({ verifyBody: async () => true })`, /checks the body of whom it admitted/],
	[
		'a method that shows its token when it refuses a body',
		`holdAuth({ verifyBody: async (request, caller, { token }) => { throw new kit_core.GatewayError('unauthorized', 'Sign with ' + token); } })`,
		/a secret of the config is in no caller/,
	],
	['a method whose scheme is of no type', `holdAuth({ scheme: () => ({ type: 'magic' }) })`, /what it tells clients/],
	[
		'a method that crashes at an odd header',
		`holdAuth({ authenticate: async (request, c) => { if (request.headers.authorization === 'Bearer') null.x; return auth().authenticate(request, c); } })`,
		/admits nobody and brings nothing down/,
	],
	[
		'a method that shows its token in the challenge',
		`holdAuth({ challenge: (gateway, { token }) => 'Bearer realm="' + token + '"' })`,
		/a secret of the config is in no caller/,
	],
	[
		'a method whose scopes are a text',
		`holdAuth({ authenticate: async (r, c) => { const caller = await auth().authenticate(r, c); return caller && { ...caller, scopes: 'tools:read' }; } })`,
		/gives a caller that core takes/,
	],
	['a transport that keeps the contract', 'holdTransport({})', null],
	[
		'a transport that reads a parameter of its path',
		`holdTransport({ routes: [...transport().routes, { method: 'PUT', path: '/notes/{id}/{more*}', handler: async ({ params, path }) => ({ status: 200, body: { id: params.id.trim(), more: params.more.split('/'), path } }) }] })`,
		null,
	],
	[
		'a transport that cannot have a limit refused',
		`holdTransport({ fail: ({ code, status }) => { if (code === 'rate_limited') throw new Error('A 429 is never asked for.'); return { status, body: {} }; } })`,
		null,
	],
	[
		'a transport that makes a login of what is not found',
		`holdTransport({ fail: ({ status }) => ({ status: status === 404 ? 401 : status, body: {} }) })`,
		/every error has a form/,
	],
	[
		'a transport that changes its config when it refuses',
		`holdTransport({ fail: ({ status }, request, config) => { config.title = 'x'; return { status, body: {} }; } })`,
		/every error has a form/,
	],
	[
		'a transport that tells its secret in a header of a refusal',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async () => { throw new kit_core.GatewayError('not_found', 'No.'); } }], fail: ({ status }, request, { key }) => ({ status, headers: { 'x-key': key }, body: {} }) })`,
		/a secret of the config is in no answer/,
	],
	[
		'a transport that mixes requests',
		`let text; holdTransport({ routes: [{ ...transport().routes[0], handler: async ({ body }, config, call) => { text = typeof body?.text === 'string' ? body.text : 'x'; await new Promise(setImmediate); return { status: 200, body: { said: text } }; } }] })`,
		/do not mix/,
	],
	[
		'a transport that answers with its secret',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async (r, c) => ({ status: 200, body: { hello: c.key } }) }] })`,
		/a secret of the config is in no answer/,
	],
	[
		'a transport that tells the headers',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async ({ headers }) => ({ status: 200, body: { hello: headers } }) }] })`,
		/the secrets of the request/,
	],
	[
		'a transport that crashes at an odd body',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async ({ body }) => ({ status: 200, body: { said: body.text.trim() } }) }] })`,
		/that no protocol expects/,
	],
	[
		'a transport that sends an impossible status',
		`holdTransport({ routes: [{ ...transport().routes[0], handler: async () => ({ status: 999 }) }] })`,
		/it answers a call/,
	],
	[
		'a field that no canary can reach',
		`holdTransport({ config: Joi.object({ title: Joi.string().description('A title.'), keys: Joi.array().items(Joi.object({ id: Joi.string().required(), key: Joi.string().meta({ secret: true }) })).description('Keys.') }) })`,
		/a secret of the config is in no answer/,
	],
	['an importer that keeps the contract', 'holdImporter({})', null],
	[
		'an importer that writes its secret into its tools',
		`holdImporter({ async *parse(source, options) { for await (const one of importer().parse(source)) yield { ...one, definition: { from: options.key } }; return { format: 'x', title: null, version: null, servers: [] }; } })`,
		/a secret of the options is in no operation/,
	],
	[
		'an importer that shows its secret in a refusal',
		`holdImporter({ async *parse(source, { key = '' }) { try { return yield* importer().parse(source); } catch (error) { throw new kit_core.GatewayError('schema_invalid', error.message + key); } } })`,
		/a secret of the options is in no operation/,
	],
	[
		'an importer that warns of its secret',
		`holdImporter({ async *parse(source, options, context) { context.log.warn({ options }, 'Reading.'); return yield* importer().parse(source); } })`,
		/a secret of the options is in no operation/,
	],
	[
		'an importer that reads by the defaults of its operator',
		`holdImporter({ operator: OPERATOR, parse: (source, options, context) => { context.operator.region.trim(); return importer().parse(source); } })`,
		null,
	],
	[
		'an importer whose summary names one server',
		`holdImporter({ async *parse(source) { return { ...(yield* importer().parse(source)), servers: 'https://x.example' }; } })`,
		/every operation is reported once/,
	],
	[
		'an importer of methods that are numbers',
		`holdImporter({ async *parse(source) { for await (const one of importer().parse(source)) yield { ...one, method: 5 }; return { format: 'x', title: null, version: null, servers: [] }; } })`,
		/every operation is reported once/,
	],
	[
		'an importer whose tools have no description',
		`holdImporter({ tool: (operation, api) => ({ ...importer().tool(operation, api), description: undefined }) })`,
		/its tools are such as their executor takes/,
	],
	['an importer whose manifest has a fault', `holdImporter({ detects: 1 })`, /its manifest has no fault/],
	['a node that keeps the contract', 'holdNode({})', null],
	[
		'a node that runs by the defaults of its operator',
		`holdNode({ operator: OPERATOR, check: (c, graph, context) => { context.operator.region.trim(); return []; }, run: async (input, { value }, call) => { call.operator.region.trim(); return { output: call.fill(value) }; } })`,
		null,
	],
	[
		'a node that gives its secret as its output',
		`holdNode({ run: async (input, { value, auth }, call) => ({ output: auth ? auth.key : call.fill(value) }) })`,
		/a secret of the config is in no output/,
	],
	[
		'a node that shows its secret in an error',
		`holdNode({ run: async (input, { value, auth }, call) => { if (auth) throw new kit_core.GatewayError('upstream_failed', 'Refused ' + btoa(auth.key)); return { output: call.fill(value) }; } })`,
		/a secret of the config is in no output/,
	],
	[
		'a node that logs its config',
		`holdNode({ run: async (input, config, call) => { call.log.info({ config }, 'Running.'); return { output: call.fill(config.value) }; } })`,
		/a secret of the config is in no output/,
	],
	['a provider that keeps the contract', `holdProvider({});`, null],
	[
		'a provider that asks by the defaults of its operator',
		`holdProvider({ operator: OPERATOR, chat: (request, config, context) => { context.operator.region.trim(); return provider.chat(request, config, context); } });`,
		null,
	],
	[
		'a provider that shows its key in a piece',
		`holdProvider({ async *chat(request, config, context) { for await (const chunk of provider.chat(request, config, context)) yield chunk.type === 'end' ? { ...chunk, model: config.apiKey } : chunk; } });`,
		/a secret of the config is in no piece/,
	],
	[
		'a provider that shows its key in an error',
		`holdProvider({ async *chat(request, config, context) { try { yield* provider.chat(request, config, context); } catch (error) { throw Object.assign(error, { message: error.message + config.pools?.[0].key }); } } });`,
		/a secret of the config is in no piece/,
	],
	[
		'a provider that logs its key',
		`holdProvider({ async *chat(request, config, context) { context.log.debug({ key: config.apiKey }, 'Asking.'); yield* provider.chat(request, config, context); } });`,
		/a secret of the config is in no piece/,
	],
	['a feature that keeps the contract', `holdFeature(undefined, { config: withKey });`, null],
	[
		'a feature that keeps all notes in one organization',
		`let first; holdFeature((parts) => { const records = (organizationId) => parts.records(first ??= organizationId); return [put({ records }), get({ records })]; });`,
		/what is in this one does not exist/,
	],
	[
		'a feature whose reading needs no login',
		`holdFeature((parts) => [put(parts), { method: 'GET', path: '/acme-notes/{name}', options: { auth: false }, handler: () => 'x' }]);`,
		/it registers with a service/,
	],
	[
		'a feature that tells a stranger of an organization',
		`let owner; holdFeature((parts) => [put(parts), get(parts, { answer: Joi.any(), async handler(request) { owner ??= core.organizationOf(request).id; return { name: 'a', owner }; } })]);`,
		/what is in this one does not exist/,
	],
	[
		'a feature that answers otherwise than it declares',
		`holdFeature((parts) => [put(parts, { handler: () => ({ names: 1 }) }), get(parts, { handler: () => ({ name: 'a' }) })]);`,
		/it is answered as its operation promises/,
	],
	[
		'a feature that crashes at odd input',
		`holdFeature((parts) => [put(parts, { body: Joi.any(), async handler(request) { return { name: request.payload.word.trim() }; } }), get(parts)]);`,
		/with input that nobody expects/,
	],
	[
		'a feature that stores the secret of a body in clear',
		`holdFeature((parts) => [put(parts, { async handler(request) { await parts.records(core.organizationOf(request).id).put(request.params.name, { word: request.payload.word }); return { name: request.params.name }; } }), get(parts)]);`,
		/secrets of bodies are in no line/,
	],
	[
		'a feature that logs the secret of its configuration',
		`holdFeature((parts) => { parts.core.log.info({}, 'Ready with ' + parts.config.key); return [put(parts), get(parts)]; }, { config: withKey });`,
		/a secret of its configuration is in no answer/,
	],
	['a feature of which an operation has no sample', `holdFeature(undefined, { samples: 1 });`, /every operation has a sample/],
	[
		'a feature whose job fails when it comes again',
		`let times = 0; holdFeature(undefined, { jobs: { count: { attempts: 1, run: async () => { if (times++) throw new Error('again'); return 2; } } } });`,
		/count ends as it should/,
	],
];

/** The cases of one process, each a suite of its own. A feature starts a service or two, so a sample takes one of so many. */
const GROUPS = [
	{ title: 'simple kinds', setup: COMMON, nth: 1, isOf: (code: string) => !/hold(?:Provider|Feature)\(/.test(code) },
	{ title: 'providers', setup: COMMON + PROVIDER, nth: 1, isOf: (code: string) => code.includes('holdProvider(') },
	{ title: 'features', setup: COMMON + FEATURE, nth: 3, isOf: (code: string) => code.includes('holdFeature(') },
];

const holderOf = (code: string): string => /\bhold\w+(?=\()/.exec(code)?.[0] ?? '';

/**
 * Takes the plugins that keep the contract, and for each test of a suite the first plugin whose fault it shows, or every `nth` of those; a sweep
 * takes all.
 */
function taken(cases: typeof CASES, nth: number): typeof CASES {
	const shownBy = cases.map(([, code, shown]) => `${holderOf(code)} ${shown?.source}`);
	const firsts = cases.filter(([, , shown], at) => shown && shownBy.indexOf(shownBy[at] ?? '') === at);
	return cases.filter((one) => one[2] === null || isSampled(firsts.indexOf(one), nth));
}

/** The features of all cases are held on one database, since making one takes longer than the rest. */
let database: Awaited<ReturnType<typeof testDatabase>>;
let redis: TestRedis;
let serviceEnv: Record<string, string>;
before(async () => {
	database = await testDatabase();
	redis = await testRedis();
	serviceEnv = { ...databaseVariables(database.database), REDIS_HOST: redis.host, REDIS_PORT: String(redis.port), ...SECRETS };
});
after(async () => {
	await database.drop();
	await redis.stop();
});

/** Runs cases, and returns what TAP tells of each by its name. */
function runCases(setup: string, cases: typeof CASES): Map<string, string> {
	const suites = cases.map(([what, code]) => `describe(${JSON.stringify(what)}, () => { ${code} });`).join('\n');
	const program = `import { describe } from 'node:test';\n${setup}\n${suites}`;
	// A child of a test runner would report to it.
	const { NODE_TEST_CONTEXT: _runner, ...own } = process.env;
	const env = { ...own, TEST_SERVICE: JSON.stringify(serviceEnv) };
	const { stdout, stderr } = spawnSync(process.execPath, ['--test-reporter=tap', '--input-type=module', '-e', program], {
		...{ env, encoding: 'utf8', timeout: 400_000, maxBuffer: 64 * 1024 * 1024 },
	});
	assert.equal(stderr, '');
	const parts = stdout.split(/^# Subtest: (.*)$/m).slice(1);
	return new Map(parts.flatMap((name, at) => (at % 2 === 0 ? [[name, parts[at + 1] ?? ''] as const] : [])));
}

for (const { title, setup, nth, isOf } of GROUPS)
	test(`the suites of ${title} pass what is right, and show each fault at the test that is for it`, async (t) => {
		const cases = taken(
			CASES.filter(([, code]) => isOf(code)),
			nth,
		);
		const told = runCases(setup, cases);
		for (const [what, , shown] of cases)
			await t.test(what, () => {
				const tap = told.get(what) ?? assert.fail('it did not run');
				const failed = [...tap.matchAll(/^\s+not ok \d+ - (.*)$/gm)].map(([, name = '']) => name);
				if (!shown) assert.deepEqual(failed, [], tap);
				else
					assert.ok(
						failed.some((name) => shown.test(name)),
						`${failed.join('; ')}\n${tap.slice(-2000)}`,
					);
			});
	});
