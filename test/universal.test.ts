// Tests that core knows no built-in plugin: no file of core, nor of the database, holds the name of one in a string, but for the exceptions here.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import ts from 'typescript5';
import type { Kind } from '../core/contract/kinds.ts';
import { loadPlugins } from '../core/registry/loader.ts';
import { silent } from './helpers/silent.ts';
import { ROOT, readSources } from './rooms.ts';

/** Features are left out: they have the names of the resources that they serve. */
const NAMED: readonly Kind[] = ['transport', 'importer', 'executor', 'provider', 'node', 'auth'];

const REASONS = {
	segments: 'reserved first segments',
	prefixes: 'the prefixes of section 8.1',
	credentials: 'the credential types of section 2',
	standards: 'words of other standards',
	words: 'everyday words, which libraries and sentences have too',
} as const;

interface Exception {
	reason: keyof typeof REASONS;
	names: readonly string[];
	/** Absent: in every file. */
	file?: string;
	/** The meaning of the word there. */
	as: string;
}

const CREDENTIALS = ['api_key', 'bearer_token', 'basic_auth', 'oauth2'];
const credentials = (file: string, as: string, names: readonly string[] = CREDENTIALS): Exception => ({
	...{ reason: 'credentials', names, file, as },
});
const standards = (names: readonly string[], as: string, file?: string): Exception => ({
	...{ reason: 'standards', names, as, ...(file !== undefined && { file }) },
});

/** All exceptions. Another one needs a reason of these five. */
const EXCEPTIONS: readonly Exception[] = [
	{
		reason: 'segments',
		names: ['mcp', 'a2a', 'graphql', 'openapi', 'oauth2'],
		file: 'core/http/reserved.ts',
		as: 'paths that no organization may take',
	},
	{ reason: 'prefixes', names: ['mcp', 'a2a'], file: 'core/limits/table.ts', as: 'paths with a window of their own' },
	credentials('core/contract/nouns.ts', 'the types'),
	credentials('core/upstreams/credential-types.ts', 'the fields of each type'),
	credentials('core/upstreams/credentials.ts', 'how each type is sent'),
	credentials('core/upstreams/signing.ts', 'how each type is sent'),
	credentials('core/identity/credential-places.ts', 'the query parameter of section 5.2', ['api_key']),
	credentials('core/config/log.ts', 'a field that no line of the log shows', ['api_key']),
	credentials('core/management/declarations.ts', 'the gateway API key of section 2, in the audit log', ['api_key']),
	credentials('db/audited.ts', 'the gateway API key of section 2, in the audit log', ['api_key']),
	standards(['http'], 'the protocol, and schemes of URLs (RFC 9110, RFC 3986)'),
	standards(['mcp'], 'attributes and metrics that the conventions of OpenTelemetry name', 'core/telemetry/names.ts'),
	standards(['protobuf'], 'an encoding of OTLP, as OpenTelemetry’s variables name it', 'core/telemetry/variables.ts'),
	standards(['protobuf'], 'the media type of OTLP in that encoding', 'core/telemetry/otlp/exporters.ts'),
	standards(['oauth2'], 'the type of a security scheme (OpenAPI 3.1, A2A)', 'core/contract/admission.ts'),
	standards(['oauth2'], 'the type of a security scheme (OpenAPI 3.1, A2A)', 'core/gateways/admission.ts'),
	standards(['none'], 'the English word; CSP’s and OpenID’s keyword'),
	standards(['jwt'], 'the message `jwt issuer invalid` of section 5.1 (RFC 7519)', 'core/secrets/tokens.ts'),
	standards(['jwt'], 'a token of RFC 7519 by an issuer', 'core/identity/key-sets.ts'),
	standards(['jwt'], 'the subject of a token of RFC 7519', 'core/identity/signed-tokens.ts'),
	standards(['javascript'], 'a media type (RFC 9239)', 'core/http/writer.ts'),
	standards(['javascript', 'graphql'], 'media types (RFC 9239, GraphQL over HTTP)', 'core/kit/tool-results.ts'),
	standards(['llm'], 'LLM providers of an organization (specification 2), a resource of the management API and its tables'),
	standards(['skills'], 'skills of an organization (agentskills.io), a resource of the management API and its tables'),
	{ reason: 'words', names: ['custom', 'local'], as: 'the English words, and Joi’s functions; a scope of a setting of PostgreSQL' },
	{
		...{ reason: 'words', names: ['input', 'output', 'map', 'merge', 'condition', 'transform'] },
		as: 'members of rows and of contracts, functions, and words of sentences',
	},
	standards(['agent'], 'agents of an organization, a resource of the management API and its tables; the header User-Agent (RFC 9110)'),
	standards(['tool_call'], 'a chunk of an answer in which a model calls a tool, as OpenAI’s chat completions name it'),
	standards(['grpc'], 'the headers of gRPC over HTTP/2, `grpc-*`', 'core/upstreams/pass-through.ts'),
	{ reason: 'segments', names: ['utcp'], file: 'core/http/reserved.ts', as: 'a path that no organization may take' },
	{ reason: 'prefixes', names: ['utcp'], file: 'core/limits/table.ts', as: 'a path with a window of its own' },
];

let names: ReadonlySet<string>;
before(async () => {
	const registry = await loadPlugins(ROOT, [], { log: silent });
	names = new Set(NAMED.flatMap((kind) => registry.list(kind).map(({ name }) => name)));
});

interface Held {
	file: string;
	line: number;
	name: string;
}

/** Returns the text of a literal or of a member's name; null for any other node. */
function textOf(node: ts.Node): string | null {
	if (ts.isImportDeclaration(node.parent) || ts.isExportDeclaration(node.parent)) return null;
	if (ts.isStringLiteralLike(node) || ts.isRegularExpressionLiteral(node)) return node.text;
	if (ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) return node.text;
	return ts.isIdentifier(node) && ts.isPropertyAssignment(node.parent) && node.parent.name === node ? node.text : null;
}

/** Finds the names of plugins among the words of all literals. */
function namesIn({ file, text }: { file: string; text: string }): Held[] {
	const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
	const held: Held[] = [];
	const visit = (node: ts.Node): void => {
		const words = (textOf(node) ?? '').toLowerCase().split(/[^a-z0-9_]+/);
		const line = (): number => source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
		for (const name of words) if (names.has(name)) held.push({ file, line: line(), name });
		ts.forEachChild(node, visit);
	};
	ts.forEachChild(source, visit);
	return held;
}

const sources = readSources('{core,db}/**/*.ts').filter(({ file }) => !file.endsWith('.test.ts'));

const covers = ({ names: allowed, file }: Exception, held: Held): boolean =>
	(file === undefined || file === held.file) && allowed.includes(held.name);

test('the names of the plugins and their uses are found', () => {
	for (const name of ['mcp', 'openapi', 'javascript', 'api_key']) assert.ok(names.has(name), name);
	const text = `import '../mcp/x.ts';\nconst a = { mcp: \`x \${a} mcp\` };\n// mcp\nconst b = /mcp/;\ntype C = 'mcp';\nconst mcp = 'mcps';`;
	assert.deepEqual(
		namesIn({ file: 'a.ts', text }).map(({ line }) => line),
		[2, 2, 4, 5],
	);
});

test('no file of core or of the database holds the name of a built-in plugin as a string, but for the exceptions', () => {
	const held = sources.flatMap(namesIn).filter((one) => !EXCEPTIONS.some((exception) => covers(exception, one)));
	assert.deepEqual(
		held.map(({ file, line, name }) => `${file}:${line}: ${name}`),
		[],
	);
});

test('every exception is used, and has one of the four reasons', () => {
	const held = sources.flatMap(namesIn);
	const idle = EXCEPTIONS.flatMap(({ names: allowed, ...rest }) => allowed.map((name) => ({ ...rest, names: [name] }))).filter(
		(exception) => !held.some((one) => covers(exception, one)),
	);
	assert.deepEqual(idle, []);
	assert.deepEqual([...new Set(EXCEPTIONS.map(({ reason }) => reason))], Object.keys(REASONS));
});
