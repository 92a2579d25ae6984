// The runner script of a skill, `scripts/call.mjs`: it depends on nothing but Node 18, and contains no credential.

import type { JsonObject } from '../../../core/index.ts';

/** @param settings what the script knows of its gateway: `url`, `prefix`, `ways` */
export const writeRunner = (settings: JsonObject): string => SOURCE.replace('{/* settings */}', () => JSON.stringify(settings));

const SOURCE = String.raw`#!/usr/bin/env node
// Calls the tools of a gateway. It needs Node 18 or later and nothing else; credentials come from the environment.

import { readFileSync } from 'node:fs';
import { env } from 'node:process';

const SETTINGS = {/* settings */};
const USAGE = [
	'node scripts/call.mjs TOOL [JSON | -]     calls a tool with the arguments; - reads them from standard input',
	'node scripts/call.mjs --list [WORDS]      lists the tools, or those that have all the words',
	'node scripts/call.mjs --schema TOOL       prints what a tool takes and returns',
	'node scripts/call.mjs --dry-run TOOL ...  checks and shows the request, and sends nothing',
	'--timeout SECONDS                         default 120',
].join('\n');
const EXIT = { failed: 1, usage: 2, credential: 3, later: 4 };

class Failure extends Error {
	constructor(exit, message) {
		super(message);
		this.exit = exit;
	}
}

const variable = (end) => SETTINGS.prefix + '_' + end;
const valueOf = (end) => env[variable(end)] || null;

function gatewayUrl() {
	const given = (valueOf('URL') || SETTINGS.url).replace(/\/+$/, '');
	let url;
	try {
		url = new URL(given);
	} catch {
		throw new Failure(EXIT.usage, variable('URL') + ' is no URL.');
	}
	if (!/^https?:$/.test(url.protocol)) throw new Failure(EXIT.usage, variable('URL') + ' must begin with https:// or http://.');
	return given;
}

/** Returns the first way whose variables are all set. */
function credential() {
	const way = (SETTINGS.ways || []).find(({ variables }) => variables.every((end) => valueOf(end) !== null));
	if (!way) return null;
	const values = way.variables.map(valueOf);
	if (way.place === 'basic') return { ...way, value: 'Basic ' + Buffer.from(values.join(':')).toString('base64') };
	return { ...way, value: way.place === 'bearer' ? 'Bearer ' + values[0] : values[0] };
}

function requestOf(method, path, body) {
	const url = new URL(gatewayUrl() + path);
	const headers = { accept: 'application/json' };
	if (body !== undefined) headers['content-type'] = 'application/json';
	const found = credential();
	if (found && found.place === 'query') url.searchParams.set(found.name, found.value);
	else if (found && found.place === 'cookie') headers.cookie = found.name + '=' + found.value;
	else if (found) headers[found.name] = found.value;
	return { method, url, headers, body: body === undefined ? undefined : JSON.stringify(body), found };
}

async function send({ method, url, headers, body }, seconds) {
	const signal = AbortSignal.timeout(seconds * 1000);
	let response;
	let text;
	try {
		// A credential goes to the gateway only, so redirects are not followed.
		response = await fetch(url, { method, headers, body, redirect: 'manual', signal });
		text = await response.text();
	} catch (error) {
		if (error && error.name === 'TimeoutError') throw new Failure(EXIT.later, 'There was no answer within ' + seconds + ' seconds.');
		const cause = error && error.cause && (error.cause.code || error.cause.message);
		throw new Failure(EXIT.later, url.origin + ' cannot be reached' + (cause ? ': ' + cause : '') + '.');
	}
	let answer;
	try {
		answer = text === '' ? null : JSON.parse(text);
	} catch {
		answer = null;
	}
	if (response.ok && answer !== null) return answer;
	throw refusal(response, answer);
}

function refusal(response, answer) {
	const { status, headers } = response;
	const name = (answer && answer.error) || 'HTTP ' + status;
	const lines = [name + ' (' + status + '): ' + ((answer && answer.message) || 'The gateway gave no answer that can be read.')];
	for (const detail of (answer && answer.details) || []) lines.push('  ' + (detail.path || detail.field || '/') + ' ' + detail.message);
	const id = headers.get('x-request-id');
	if (id) lines.push('request id: ' + id);
	if (status >= 300 && status < 400) lines.push('The gateway has moved: set ' + variable('URL') + ' to its new address.');
	if (status === 401) lines.push(missing());
	const wait = headers.get('retry-after');
	if (wait && (status === 429 || status === 503)) lines.push('Try again in ' + wait + ' seconds.');
	return new Failure(exitFor(status, name), lines.join('\n'));
}

function exitFor(status, name) {
	if (status === 401 || status === 403) return EXIT.credential;
	if (status === 429 || status === 503 || status === 504) return EXIT.later;
	return status === 400 || status === 413 || name === 'TOOL_NOT_FOUND' ? EXIT.usage : EXIT.failed;
}

function missing() {
	const ways = (SETTINGS.ways || []).map(({ variables }) => variables.map(variable).join(' and '));
	return credential() ? 'The credential in the environment was not accepted.' : 'No credential is set: set ' + (ways.join(', or ') || variable('TOKEN')) + '.';
}

/** The tools as the skill was written; null when the gateway tells them to callers only. */
function ownTools() {
	try {
		return JSON.parse(readFileSync(new URL('../assets/tools.json', import.meta.url), 'utf8')).tools;
	} catch (error) {
		if (error.code === 'ENOENT') return null;
		throw error;
	}
}

const listTools = async (seconds) => ownTools() || (await send(requestOf('GET', '/tools'), seconds)).tools;

async function findTool(name, seconds) {
	const tools = ownTools();
	if (!tools) return send(requestOf('GET', '/tools/' + encodeURIComponent(name)), seconds);
	const tool = tools.find((one) => one.name === name);
	if (tool) return tool;
	const like = tools.filter((one) => one.name.toLowerCase().includes(name.toLowerCase())).slice(0, 5);
	const hint = like.length > 0 ? ' Did you mean ' + like.map((one) => one.name).join(', ') + '?' : '';
	throw new Failure(EXIT.usage, 'This skill has no tool "' + name + '".' + hint + ' --list shows all.');
}

function readArguments(given) {
	if (given === undefined) return {};
	const text = given === '-' ? readFileSync(0, 'utf8') : given;
	let value;
	try {
		value = JSON.parse(text);
	} catch (error) {
		throw new Failure(EXIT.usage, 'The arguments are no JSON: ' + error.message);
	}
	if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Failure(EXIT.usage, 'The arguments must be one JSON object.');
	return value;
}

/** Whether the gateway may fill in an argument that is absent: by its default, or the only value that it can have. */
const mayBeFilled = (schema) =>
	['default', 'const', '$ref'].some((key) => Object.hasOwn(schema, key)) || (schema.enum || []).length === 1;

/** Refuses only what the gateway would refuse. */
function checkArguments(tool, args) {
	const { required = [], properties = {}, patternProperties, additionalProperties } = tool.parameters || {};
	const needed = required.filter((name) => !Object.hasOwn(properties, name) || !mayBeFilled(properties[name]));
	const absent = needed.filter((name) => !Object.hasOwn(args, name));
	if (absent.length > 0) throw new Failure(EXIT.usage, 'Arguments are missing: ' + absent.join(', ') + '.');
	const isClosed = additionalProperties === false && !patternProperties;
	const unknown = isClosed ? Object.keys(args).filter((name) => !Object.hasOwn(properties, name)) : [];
	if (unknown.length > 0) throw new Failure(EXIT.usage, 'The tool takes no arguments named ' + unknown.join(', ') + '.');
}

/** The answer as data, else its texts, else its blocks. */
function shown({ structured, content = [] }) {
	if (structured !== undefined) return structured;
	if (content.length > 0 && content.every((block) => block.type === 'text')) return content.map((block) => block.text).join('\n');
	return content;
}

/** Returns the texts of the gateway beside the data, such as how much of them it cut away. */
const notes = ({ structured, content = [] }) =>
	structured === undefined ? [] : content.slice(1).flatMap((block) => (block.type === 'text' ? [block.text] : []));

const print = (value) => process.stdout.write((typeof value === 'string' ? value : JSON.stringify(value, null, 2)) + '\n');

function readOptions(argv) {
	const options = { mode: 'call', seconds: 120, rest: [] };
	for (let at = 0; at < argv.length; at += 1) {
		const word = argv[at];
		if (['--list', '--schema', '--dry-run', '--help'].includes(word)) options.mode = word.slice(2);
		else if (word === '--timeout') options.seconds = Number(argv[(at += 1)]);
		else if (word.startsWith('--')) throw new Failure(EXIT.usage, 'There is no option ' + word + '.\n' + USAGE);
		else options.rest.push(word);
	}
	if (!(options.seconds > 0 && options.seconds <= 3600)) throw new Failure(EXIT.usage, '--timeout takes a number of seconds, at most 3600.');
	return options;
}

async function list(words, seconds) {
	const wanted = words.join(' ').toLowerCase().split(/\s+/);
	const tools = await listTools(seconds);
	const found = tools.filter((tool) => wanted.every((word) => (tool.name + ' ' + tool.description).toLowerCase().includes(word)));
	print(found.map((tool) => tool.name + (tool.destructive ? '  [confirm with the user first]' : '') + '  ' + tool.description.split('\n', 1)[0]).join('\n'));
}

async function main() {
	const { mode, seconds, rest } = readOptions(process.argv.slice(2));
	if (mode === 'list') return list(rest, seconds);
	const [name, given, ...more] = rest;
	if (mode === 'help') return print(USAGE);
	if (name === undefined || more.length > 0) throw new Failure(EXIT.usage, USAGE);
	if (mode === 'schema') return print(await findTool(name, seconds));
	const args = readArguments(given);
	// The gateway checks arguments itself: what it does not tell without a credential is not asked for before a call.
	if (mode === 'dry-run' || ownTools()) checkArguments(await findTool(name, seconds), args);
	const request = requestOf('POST', '/tools/' + encodeURIComponent(name), args);
	if (mode === 'call') {
		const answer = await send(request, seconds);
		for (const note of notes(answer)) process.stderr.write(note + '\n');
		return print(shown(answer));
	}
	const { found } = request;
	print({ method: 'POST', url: gatewayUrl() + '/tools/' + encodeURIComponent(name), body: args, credential: found ? found.variables.map(variable) : null });
}

main().catch((error) => {
	process.stderr.write((error instanceof Failure ? error.message : String((error && error.stack) || error)) + '\n');
	process.exitCode = error instanceof Failure ? error.exit : EXIT.failed;
});
`;
