// Packages of plugins with a fault, each with what the start says about it.

export interface BrokenPackage {
	/** Completes “a package that …”. */
	id: string;
	/** The text of index.js; `index.ts` and others stand under `files`. */
	text: string;
	/** Members of its package.json. */
	described?: Record<string, unknown>;
	/** Further files of the package. */
	files?: Record<string, string>;
	/** Texts and patterns in the message, besides `GATEWAY_PLUGINS: acme-x`. `<dir>` is the folder of the package. */
	says: (string | RegExp)[];
	/** The step that finds the fault. Default: loading. */
	at?: 'load' | 'routes' | 'register';
}

const JOI = "import Joi from 'joi';\nconst config = Joi.object({});\n";

/** Builds the text of a module that exports a plugin with these members. */
const plugin = (members: string): string => `${JOI}export default { summary: 'One.', config, api: 1, ${members} };\n`;

const AUTH = "kind: 'auth', name: 'acme', authenticate: async () => null";
const ROUTE = "method: 'GET', path: '/acme', handler: async () => ({ status: 200 })";
const transport = (routes: string): string => plugin(`kind: 'transport', name: 'acme', routes: [${routes}]`);
const EXECUTOR = "kind: 'executor', name: 'acme', execute: async () => ({ content: [] })";
const PROVIDER = "kind: 'provider', name: 'acme'";
const NODE = "kind: 'node', name: 'acme', run: async () => ({ output: null })";
const feature = (members: string): string => plugin(`kind: 'feature', name: 'acme', ${members}`);
const MANAGEMENT = "method: 'GET', path: '/acme', id: 'listAcme', summary: 'Lists.', answer: Joi.object({}), handler: async () => ({})";
/** Builds a plugin with one marked field in its config. */
const marked = (schema: string): string => plugin(`${AUTH}, config: Joi.object({ token: ${schema} })`);
const managed = (more: string): string => plugin(`${AUTH}, management: [{ ${MANAGEMENT}, ${more} }]`);
/** Builds a plugin with these headers for pages. */
const withCors = (members: string): string => plugin(`${AUTH}, cors: { ${members} }`);

export const BROKEN_PACKAGES: readonly BrokenPackage[] = [
	// ── what package.json says ──────────────────────────────────────────────────────────────────────────────────────
	{
		id: 'is for another version of Gatehouse',
		text: plugin(AUTH),
		described: { peerDependencies: { gatehouse: '^99.0.0' } },
		says: ['peerDependencies.gatehouse is "^99.0.0"', /this is Gatehouse \d+\.\d+\.\d+/, '<dir>/package.json'],
	},
	{
		id: 'names no range of versions',
		text: plugin(AUTH),
		described: { peerDependencies: { gatehouse: 'newest of all' } },
		says: ['peerDependencies.gatehouse is "newest of all"'],
	},
	{
		id: 'is for another version, and would fail with this one',
		text: "throw new Error('no such export');",
		described: { peerDependencies: { gatehouse: '>=2' } },
		says: ['peerDependencies.gatehouse is ">=2"'],
	},
	{ id: 'exports no main module', text: '', described: { exports: { './x': './index.js' } }, says: ['No "exports" main defined'] },
	{
		id: 'names a main module that is absent',
		text: '',
		described: { exports: './dist/no.js' },
		says: ['names <dir>/dist/no.js, which does not exist. Build the package (npm run build'],
	},
	{
		id: 'exports for import a module that is absent',
		text: '',
		described: { exports: { import: './no.js' } },
		says: ['names <dir>/no.js, which does not exist. Build the package'],
	},

	// ── what its module does ────────────────────────────────────────────────────────────────────────────────────────
	{ id: 'ends in the middle', text: 'const a = 1;\nexport default {', says: ['did not load: Unexpected end of input', '<dir>/index.js:2'] },
	{
		id: 'has a syntax error in CommonJS',
		text: 'const a = ;\n',
		described: { type: 'commonjs' },
		says: ["did not load: Unexpected token ';'", '<dir>/index.js:1:11'],
	},
	{
		id: 'imports a module with a syntax error',
		text: "import './other.js';\nexport default {};",
		files: { 'other.js': 'export const = 1;' },
		says: ['did not load: ', '<dir>/index.js, or a module that it imports'],
	},
	{ id: 'imports a name that is not exported', text: "import { nothing } from 'node:fs';", says: ['nothing', '<dir>/index.js:1'] },
	{ id: 'imports a package that is not installed', text: "import 'acme-absent';", says: ["Cannot find package 'acme-absent'"] },
	{ id: 'throws', text: "const a = 1;\nthrow new Error('boom');", says: ['did not load: boom', '<dir>/index.js:2:7'] },
	{
		id: 'throws in a file of its own',
		text: "import { go } from './inner.js';\ngo();",
		files: { 'inner.js': "export function go() {\n\tthrow new TypeError('deep');\n}" },
		says: ['did not load: deep', '<dir>/inner.js:2:8'],
	},
	{ id: 'throws what is no error', text: "throw 'sorry';", says: ['did not load: string was thrown: sorry'] },
	{
		id: 'makes a schema that Joi refuses',
		text: `${JOI}\nexport default { config: Joi.object({ a: Joi.number().min('x') }) };`,
		says: ['did not load: limit must be a number', '<dir>/index.js:4'],
	},
	{ id: 'never loads', text: 'await new Promise(() => {});', says: ['loading took longer than 0.2 s'] },

	// ── what it exports ─────────────────────────────────────────────────────────────────────────────────────────────
	{ id: 'exports nothing', text: '', says: ['the default export must be a plugin', 'it is missing'] },
	{ id: 'exports its plugin by name', text: 'export const acme = {};', says: ['it is missing, while acme is exported by name'] },
	{ id: 'exports a class', text: 'export default class Acme {}', says: ['it is a class'] },
	{ id: 'exports a function', text: 'export default () => ({});', says: ['it is a function'] },
	{ id: 'exports a promise', text: 'export default Promise.resolve({});', says: ['it is a promise (await it)'] },
	{ id: 'exports null', text: 'export default null;', says: ['it is null'] },
	{ id: 'exports a text', text: "export default 'acme';", says: ['it is a string'] },
	{ id: 'exports an empty list', text: 'export default [];', says: ['the default export is an empty list'] },
	{ id: 'exports a list with null', text: 'export default [null];', says: ['A plugin must be an object'] },
	{
		id: 'exports a list whose second plugin is wrong',
		text: `${JOI}const one = { summary: 'One.', config, authenticate() {} };\nexport default [{ kind: 'auth', name: 'a', ...one }, { kind: 'auth', name: 'B', ...one }];`,
		says: ['plugin 2 of 2: auth:B: name must match'],
	},
	{
		id: 'exports two plugins alike',
		text: `${JOI}const one = { kind: 'auth', name: 'a', summary: 'One.', config, authenticate() {} };\nexport default [one, one];`,
		says: ['auth:a: there are two plugins of this kind and name', 'of GATEWAY_PLUGINS: acme-x and of GATEWAY_PLUGINS: acme-x'],
	},
	{
		id: 'is a function, compiled to CommonJS',
		text: "'use strict';\nObject.defineProperty(exports, '__esModule', { value: true });\nexports.default = function () {};",
		described: { type: 'commonjs' },
		says: ['it is a function'],
	},

	// ── members of every kind ───────────────────────────────────────────────────────────────────────────────────────
	{ id: 'has no kind', text: 'export default {};', says: ['kind is missing: it must be one of auth, transport'] },
	{ id: 'has an unknown kind', text: plugin("kind: 'auht', name: 'acme'"), says: ['auht:acme: kind is "auht" and must be one of auth'] },
	{
		id: 'is of a later contract',
		text: plugin(`${AUTH}, api: 99, novelty: true`),
		says: ['auth:acme: api is 99, and Gatehouse', 'version 1 of the plugin contract'],
	},
	{ id: 'has a version of the contract in words', text: plugin(`${AUTH}, api: '1'`), says: ['api must be 1'] },
	{ id: 'has no name', text: plugin("kind: 'auth', authenticate() {}"), says: ['name is missing'] },
	{ id: 'has a name with a hyphen', text: plugin("kind: 'auth', name: 'a-b', authenticate() {}"), says: ['auth:a-b: name must match'] },
	{ id: 'has no summary', text: plugin(`${AUTH}, summary: undefined`), says: ['summary is missing'] },
	{ id: 'has an empty summary', text: plugin(`${AUTH}, summary: ''`), says: ['summary must be a sentence'] },
	{ id: 'has a number for its specification', text: plugin(`${AUTH}, spec: 9110`), says: ['spec must be a text'] },
	{ id: 'has no config', text: plugin(`${AUTH}, config: undefined`), says: ['config is missing'] },
	{
		id: 'has a plain object for its config',
		text: plugin(`${AUTH}, config: { a: Joi.string() }`),
		says: ['config must be a schema of Joi'],
	},
	{
		id: 'has a text for its config',
		text: plugin(`${AUTH}, config: Joi.string()`),
		says: ['must be Joi.object({ … }), and is Joi.string()'],
	},
	{ id: 'takes any config', text: plugin(`${AUTH}, config: Joi.object()`), says: ['config must name its fields'] },
	{ id: 'takes unknown fields', text: plugin(`${AUTH}, config: Joi.object({}).unknown()`), says: ['config must refuse the fields'] },
	{
		id: 'takes unknown fields by an option',
		text: plugin(`${AUTH}, config: Joi.object({}).prefs({ stripUnknown: true })`),
		says: ['config must refuse the fields'],
	},
	{
		id: 'has a config of an older Joi',
		text: plugin(`${AUTH}, config: { [Symbol.for('@hapi/joi/schema')]: { version: '17.13.3' }, type: 'object', describe() {} }`),
		says: ['config must be a schema of Joi 18.1 or later, and is one of Joi 17.13.3'],
	},
	{
		id: 'has a config that needs a promise',
		text: plugin(`${AUTH}, config: Joi.object({ a: Joi.any().external(async () => {}) })`),
		says: ['config cannot be used to validate'],
	},
	{
		id: 'misspells a member',
		text: plugin(`${EXECUTOR}, creatble: true`),
		says: ['executor:acme: creatble is no member', 'but creatable is'],
	},
	{
		id: 'has a member that no plugin has',
		text: plugin(`${EXECUTOR}, timeout: 3`),
		says: ['timeout is no member of a plugin of kind executor, which are kind, api, name'],
	},
	{ id: 'has version 0 of its config', text: plugin(`${AUTH}, version: 0`), says: ['version must be greater than or equal to 1'] },
	{ id: 'has a version of its config in words', text: plugin(`${AUTH}, version: '1.0.0'`), says: ['version must be a number'] },
	{ id: 'has an upgrade that is no function', text: plugin(`${AUTH}, upgrade: {}`), says: ['upgrade must be of type function'] },
	{
		id: 'has an operator’s configuration without schema',
		text: plugin(`${AUTH}, operator: {}`),
		says: ['operator must be a schema of Joi'],
	},
	{ id: 'has an end that is no function', text: plugin(`${AUTH}, close: true`), says: ['close must be of type function'] },

	// ── members of one kind ─────────────────────────────────────────────────────────────────────────────────────────
	{ id: 'is an auth method that authenticates nobody', text: plugin("kind: 'auth', name: 'acme'"), says: ['authenticate is missing'] },
	{
		id: 'is an auth method whose challenge is a text',
		text: plugin(`${AUTH}, challenge: 'Acme'`),
		says: ['challenge must be of type function'],
	},
	{
		id: 'is an importer that cannot parse',
		text: plugin("kind: 'importer', name: 'acme', detect() {}, tool() {}"),
		says: ['parse is missing'],
	},
	{ id: 'is an executor that does nothing', text: plugin("kind: 'executor', name: 'acme'"), says: ['execute is missing'] },
	{
		id: 'is an executor that is creatable in words',
		text: plugin(`${EXECUTOR}, creatable: 'yes'`),
		says: ['creatable must be true or false'],
	},
	{ id: 'is a provider that cannot chat', text: plugin(PROVIDER), says: ['provider:acme: chat is missing'] },
	{
		id: 'is a provider with a list of models',
		text: plugin(`${PROVIDER}, async *chat() {}, models: []`),
		says: ['models must be of type function'],
	},
	{ id: 'is a node that does not say its effect', text: plugin(NODE), says: ['node:acme: effect is missing'] },
	{ id: 'is a node with another effect', text: plugin(`${NODE}, effect: 'twice'`), says: ['effect must be one of none, repeatable, once'] },
	{ id: 'is a node with no way out', text: plugin(`${NODE}, effect: 'none', ports: []`), says: ['ports is empty'] },
	{ id: 'is a feature that registers nothing', text: plugin("kind: 'feature', name: 'acme'"), says: ['register is missing'] },
	{
		id: 'is a feature with a role that does not exist',
		text: feature("register() {}, permissions: { 'acme:write': 'king' }"),
		says: ['permissions.acme:write must be one of owner, admin, member, viewer'],
	},
	{
		id: 'is a feature with a permission of another form',
		text: feature("register() {}, permissions: { Write: 'owner' }"),
		says: ['permissions.Write must have a name that matches'],
	},
	{
		id: 'is a feature with half a limit',
		text: feature('register() {}, limits: { acme: { max: 3, second: 60 } }'),
		says: ['limits.acme.seconds is missing', 'limits.acme.second is no member of limits.acme, but seconds is'],
	},
	{ id: 'is a feature with a path for a segment', text: feature("register() {}, segments: ['/acme']"), says: ['segments[0] must match'] },
	{
		id: 'is a feature with a word twice',
		text: feature("register() {}, audits: ['a', 'a']"),
		says: ['audits[1] contains a duplicate value'],
	},
	{
		id: 'is a feature with two configurations',
		text: feature('register() {}, operator: config'),
		says: ['operator is not for this kind: its config is the operator’s, and in no row'],
	},

	// ── routes ──────────────────────────────────────────────────────────────────────────────────────────────────────
	{ id: 'is a transport without routes', text: plugin("kind: 'transport', name: 'acme'"), says: ['routes is missing'] },
	{ id: 'is a transport with no route', text: transport(''), says: ['transport:acme: routes is empty'] },
	{ id: 'has a route that is none', text: transport('7'), says: ['routes[0] must be of type object'] },
	{ id: 'has a route without handler', text: transport("{ method: 'GET', path: '/' }"), says: ['routes[0].handler is missing'] },
	{
		id: 'has a route of a method that no gateway serves',
		text: transport(`{ ${ROUTE} }, { ${ROUTE}, method: 'PATCH' }`),
		says: ['routes[1].method must be one of GET, POST, PUT, DELETE'],
	},
	{ id: 'has a method in small letters', text: transport(`{ ${ROUTE}, method: 'get' }`), says: ['routes[0].method must be one of GET'] },
	{ id: 'has a path without a slash', text: transport(`{ ${ROUTE}, path: 'acme' }`), says: ['routes[0].path must begin with /'] },
	{
		id: 'has a path that ends with a slash',
		text: transport(`{ ${ROUTE}, path: '/acme/' }`),
		says: ['routes[0].path must not end with /'],
	},
	{ id: 'has a path that no router takes', text: transport(`{ ${ROUTE}, path: '/{a' }`), says: ['routes[0].path must be a path such as'] },
	{ id: 'has a parameter twice', text: transport(`{ ${ROUTE}, path: '/{a}/{a}' }`), says: ['routes[0].path must be a path such as'] },
	{
		id: 'has a body of another kind',
		text: transport(`{ ${ROUTE}, body: 'JSON' }`),
		says: ['routes[0].body must be one of json, form, raw'],
	},
	{ id: 'has a size in words', text: transport(`{ ${ROUTE}, maxBytes: '1mb' }`), says: ['routes[0].maxBytes must be a number'] },
	{ id: 'has a size below one', text: transport(`{ ${ROUTE}, maxBytes: 0 }`), says: ['routes[0].maxBytes must be greater than'] },
	{
		id: 'has a route that is public in words',
		text: transport(`{ ${ROUTE}, public: 'yes' }`),
		says: ['routes[0].public must be true or false'],
	},
	{
		id: 'misspells a member of a route',
		text: transport(`{ ${ROUTE}, maxbytes: 1 }`),
		says: ['routes[0].maxbytes is no member', 'but maxBytes is'],
	},
	{ id: 'has a limit without seconds', text: transport(`{ ${ROUTE}, limit: { max: 3 } }`), says: ['routes[0].limit.seconds is missing'] },
	{
		id: 'has a limit of none',
		text: transport(`{ ${ROUTE}, limit: { max: 0, seconds: 60 } }`),
		says: ['routes[0].limit.max must be greater than'],
	},
	{
		id: 'has a limit of more than a year',
		text: transport(`{ ${ROUTE}, limit: { max: 1, seconds: 1e15 } }`),
		says: ['routes[0].limit.seconds must be less than'],
	},
	{ id: 'lets pages send a wildcard', text: withCors("send: ['*']"), says: ['cors.send[0] must match'] },
	{ id: 'lets pages send a cookie', text: withCors("send: ['Cookie']"), says: ['cors.send[0] must be another header'] },
	{ id: 'lets pages read a cookie', text: withCors("read: ['etag', 'set-cookie']"), says: ['cors.read[1] must be another header'] },
	{
		id: 'allows credentials by itself',
		text: withCors("read: ['access-control-allow-credentials']"),
		says: ['cors.read[0] must be another header'],
	},
	{ id: 'lets pages of one origin in', text: withCors("origin: 'https://a.example'"), says: ['cors.origin is no member of cors'] },
	{ id: 'has two routes alike', text: transport(`{ ${ROUTE} }, { ${ROUTE} }`), says: ['[1] has the same place as [0], GET /acme'] },
	{
		id: 'has two routes that differ by the name of a parameter',
		text: transport(`{ ${ROUTE}, path: '/{a}' }, { ${ROUTE}, path: '/{b}' }`),
		says: ['[1] has the same place as [0], GET /{b}'],
	},
	{
		id: 'has several faults at once',
		text: transport(`{ ${ROUTE}, method: 'get', body: 'text' }, { path: '/b' }`),
		says: ['routes[0].method must', 'routes[0].body must', 'routes[1].method is missing', 'routes[1].handler is missing'],
	},
	{
		id: 'has a management route that patches',
		text: managed("method: 'PATCH'"),
		says: ['management[0].method must be one of GET, POST, PUT, DELETE'],
	},
	{
		id: 'reads a body with GET',
		text: managed('body: Joi.object({ a: Joi.any() })'),
		says: ['management[0].body is for POST and PUT alone'],
	},
	{
		id: 'takes any body',
		text: managed("method: 'PUT', body: Joi.object({ a: Joi.any() }).unknown()"),
		says: ['management[0].body must refuse the fields that it does not name'],
	},
	{ id: 'takes a text as body', text: managed("method: 'PUT', body: Joi.string()"), says: ['management[0].body must be Joi.object'] },
	{
		id: 'has a list with a limit of its own',
		text: managed("list: 'as', query: Joi.object({ limit: Joi.number() })"),
		says: ['management[0].query must not name limit'],
	},
	{ id: 'repeats a GET', text: managed('idempotent: true'), says: ['management[0].idempotent is for POST alone'] },
	{ id: 'creates with GET', text: managed('status: 200'), says: ['management[0].status is for POST alone'] },
	{ id: 'throws an error of its own', text: managed("errors: ['teapot']"), says: ['management[0].errors[0] must be one of'] },
	{ id: 'has the revision of a list', text: managed("list: 'as', versioned: true"), says: ['management[0].versioned'] },
	{ id: 'has a management route at a parameter', text: managed("path: '/{name}'"), says: ['management[0].path must match'] },
	{ id: 'has a management route without schema', text: managed('answer: {}'), says: ['management[0].answer must be a schema of Joi'] },
	{
		id: 'has the management route of another method',
		text: `${JOI}const one = { kind: 'auth', summary: 'One.', config, authenticate() {}, management: [{ ${MANAGEMENT} }] };\nexport default [{ ...one, name: 'a' }, { ...one, name: 'b' }];`,
		says: ['auth:b: management[0]: there are two of listAcme; the other is of auth:a'],
	},
	{
		id: 'has a transport and a method with the same route',
		text: `${JOI}const one = { summary: 'One.', config, routes: [{ ${ROUTE} }] };\nexport default [{ ...one, kind: 'transport', name: 'wire' }, { ...one, ${AUTH} }];`,
		at: 'routes',
		says: ['transport:wire (GATEWAY_PLUGINS: acme-x) and auth:acme (GATEWAY_PLUGINS: acme-x) both have the route GET /acme'],
	},

	// ── marks that cannot be honoured ───────────────────────────────────────────────────────────────────────────────
	{
		id: 'marks its whole config as secret',
		text: plugin(`${AUTH}, config: Joi.object({ a: Joi.any() }).meta({ secret: true })`),
		says: ['auth:acme: config: the whole config is marked as secret; mark its fields'],
	},
	{
		id: 'marks a secret by a word',
		text: marked("Joi.string().meta({ secret: 'yes' })"),
		says: ['config.token: secret must be true or false'],
	},
	{
		id: 'has a secret with a default',
		text: marked("Joi.string().default('x').meta({ secret: true })"),
		says: ['config.token: a secret must not have a default'],
	},
	{
		id: 'marks the names of members',
		text: marked('Joi.object().pattern(Joi.string().meta({ secret: true }), Joi.any())'),
		says: ['config.token: a mark is on a schema that no value'],
	},
	{
		id: 'marks what is forbidden',
		text: marked('Joi.string().forbidden().meta({ secret: true })'),
		says: ['config.token: a secret must be a value that can be given'],
	},
	{
		id: 'has a number for a destination',
		text: marked('Joi.number().meta({ destination: true })'),
		says: ['config.token: only a string can be a destination'],
	},

	// ── features, when they register ────────────────────────────────────────────────────────────────────────────────
	{
		id: 'is a feature that throws',
		text: feature("register() {\n\tthrow new Error('boom in register');\n}"),
		at: 'register',
		says: ['feature:acme: register failed: boom in register', '<dir>/index.js:4:8'],
	},
	{
		id: 'is a feature that rejects',
		text: feature("async register() {\n\tthrow new Error('later');\n}"),
		at: 'register',
		says: ['feature:acme: register failed: later', '<dir>/index.js:4:8'],
	},
	{
		id: 'is a feature with a route that exists',
		text: feature("register(server) {\n\tserver.route({ method: 'GET', path: '/health', handler: () => '' });\n}"),
		at: 'register',
		says: ['feature:acme: register failed: New route /health conflicts with existing /health', '<dir>/index.js:4:9'],
	},
	{
		id: 'is a feature that never ends registering',
		text: feature('register: () => new Promise(() => {})'),
		at: 'register',
		says: ['feature:acme: register took longer than 0.2 s'],
	},
	{
		id: 'is a feature with a route that does not say who may use it',
		text: feature("segments: ['acme'], register(server) {\n\tserver.route({ method: 'GET', path: '/acme', handler: () => '' });\n}"),
		at: 'register',
		says: ['feature:acme (GATEWAY_PLUGINS: acme-x): GET /acme: the route does not declare what it needs'],
	},
];
