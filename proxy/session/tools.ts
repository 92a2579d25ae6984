// `tools/…` in both modes. In skill-first mode there are two tools, which stand for all of the gateway's.

import { type Catalog, fullList, type OwnTools, USUAL_OWN } from '../gateway/catalog.ts';
import { ownVersion } from '../gateway/client.ts';
import { CODES, isObject, type JsonObject, MessageFault } from '../wire/messages.ts';
import { passed, passedCall, resultOf, toolError } from './answers.ts';
import type { Context } from './context.ts';
import type { Relay } from './relay.ts';
import type { Running } from './running.ts';

const SEARCH = 'svc_search';
const EXECUTE = 'svc_execute';
const MAX_QUERY_CHARS = 500;

const TOOLS: JsonObject[] = [
	{
		name: SEARCH,
		title: 'Search tools',
		description:
			'Finds tools by keyword. Say in a few words what you want to do, or give the exact name of a tool. The answer has the best tools first, with ' +
			`the JSON Schemas of their parameters; run them by ${EXECUTE}.`,
		inputSchema: {
			type: 'object',
			properties: {
				query: { type: 'string', minLength: 1, maxLength: MAX_QUERY_CHARS, description: 'A few words, or a name' },
				limit: { type: 'integer', minimum: 1, maximum: 25, default: 10, description: 'The most tools to show' },
			},
			required: ['query'],
			additionalProperties: false,
		},
		annotations: { title: 'Search tools', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
	},
	{
		name: EXECUTE,
		title: 'Execute a tool',
		description: `Calls a tool by name: one that ${SEARCH} found, with parameters that fit its schema. The answer is the tool’s own.`,
		inputSchema: {
			type: 'object',
			properties: {
				name: { type: 'string', description: 'The name of the tool' },
				parameters: { type: 'object', description: 'The parameters, as the schema of the tool says' },
			},
			required: ['name'],
			additionalProperties: false,
		},
		annotations: { title: 'Execute a tool', readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
	},
];

export async function listTools(running: Running, { settings }: Context, relay: Relay): Promise<void> {
	const { request } = running;
	if (settings.mode === 'skill-first') return running.answer(resultOf(request, { tools: TOOLS }, true));
	await running.answer(passed(request, await relay.pass(running, fullList(request.params))));
}

export async function callTool(running: Running, context: Context, relay: Relay): Promise<void> {
	const { request } = running;
	const { name, arguments: given } = request.params;
	const args = given ?? {};
	if (typeof name !== 'string') throw new MessageFault(CODES.invalidParams, 'params.name must be a string, the name of a tool.');
	if (!isObject(args)) throw new MessageFault(CODES.invalidParams, 'params.arguments must be an object.');
	const called = context.settings.mode === 'full' ? await direct(running, context) : await indirect(running, context, args);
	if (typeof called === 'string') return running.answer(toolError(request, called));
	await running.answer(passedCall(request, await relay.pass(running, called.params)));
}

type Called = { params: JsonObject | null };

/** A call of 2026-07-28 repeats some arguments in headers, which a client of stdio does not send: there the gateway's own tool runs it. */
async function direct({ request: { params } }: Running, context: Context): Promise<Called> {
	if (ownVersion(params) === null) return { params: null };
	const { execute } = await ownTools(context);
	return { params: { ...params, name: execute, arguments: { name: params['name'], arguments: params['arguments'] ?? {} } } };
}

/** @returns the parameters of the call that is made instead, or what is wrong with the arguments */
async function indirect({ request: { params } }: Running, context: Context, args: JsonObject): Promise<Called | string> {
	const { name } = params;
	if (name === SEARCH) {
		const { query, limit } = args;
		if (typeof query !== 'string' || query.trim() === '') return '"query" is required: a text of a few words, or a tool’s name.';
		const { search } = await ownTools(context);
		return {
			params: { ...params, name: search, arguments: { query: query.slice(0, MAX_QUERY_CHARS), ...(limit !== undefined && { limit }) } },
		};
	}
	if (name !== EXECUTE)
		throw new MessageFault(CODES.invalidParams, `There is no tool "${String(name).slice(0, 128)}", but ${SEARCH} and ${EXECUTE}.`);
	const { name: tool, parameters: wanted, ...others } = args;
	const parameters = wanted ?? {};
	if (typeof tool !== 'string' || tool === '') return `"name" is required: the name of a tool that ${SEARCH} found.`;
	if (!isObject(parameters)) return '"parameters" must be an object that fits the schema of the tool.';
	const [other] = Object.keys(others);
	// The tool would run without what the caller meant to give it.
	if (other !== undefined) return `"${other.slice(0, 128)}" is not known: what the tool gets is in "parameters".`;
	const { execute } = await ownTools(context);
	return { params: { ...params, name: execute, arguments: { name: tool, arguments: parameters } } };
}

/** Returns the names of the gateway's own tools; the usual ones where it does not list them to this credential, or cannot be reached now. */
async function ownTools({ catalog }: Context): Promise<OwnTools> {
	const known: Pick<Catalog, 'own'> = await catalog().catch(() => ({ own: USUAL_OWN }));
	return known.own;
}
