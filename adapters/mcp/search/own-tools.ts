// The gateway's own tools, which stand for all others where these would fill a model's context: which are listed, and under which names.

import type { JsonObject, Tool } from '../../../core/index.ts';
import type { Exchange } from '../dispatch.ts';
import { CODES, metaOf, ProtocolError } from '../messages.ts';
import { MAX_QUERY_CHARS } from './rank.ts';
import { BOUNDS } from './run-code.ts';
import { MOST_HITS } from './search-tools.ts';

/** The way in which `tools/list` shows a gateway: all tools, or the own ones that find and run them. */
export type Exposure = 'full' | 'search' | 'code';
export const EXPOSURES = ['full', 'search', 'code'] as const satisfies Exposure[];

export type Role = 'search' | 'execute' | 'code';

/** The key in `_meta` of `tools/list` by which a client chooses, and of each own tool listed, which says its role under any name. */
const EXPOSURE_KEY = 'gatehouse/exposure';
const ROLE_KEY = 'gatehouse/role';

const NAMES: Readonly<Record<Role, string>> = { search: 'search_tools', execute: 'execute_tool', code: 'run_code' };
const ROLES = Object.keys(NAMES) as Role[];
const LISTED: Readonly<Record<Exposure, readonly Role[]>> = { full: [], search: ['search', 'execute'], code: ['search', 'code'] };

/** Returns what a list shows: what the client chooses, else what the gateway's configuration does. @throws ProtocolError */
export function exposureOf({ message, config }: Pick<Exchange, 'message' | 'config'>): Exposure {
	const chosen = metaOf(message.params)[EXPOSURE_KEY];
	if (chosen === undefined) return config.toolExposure ?? 'full';
	const known = EXPOSURES.find((one) => one === chosen);
	if (known) return known;
	throw new ProtocolError(CODES.invalidParams, `params._meta["${EXPOSURE_KEY}"] must be one of ${EXPOSURES.join(', ')}.`);
}

export type OwnNames = Readonly<Record<Role, string>>;

const named = new WeakMap<readonly Tool[], OwnNames>();

/**
 * Returns the names of the own tools beside these. A tool of the organization keeps its name, which its users know; the own one that has the
 * same gets `gatehouse_` in front.
 */
export function ownNames(tools: readonly Tool[]): OwnNames {
	const known = named.get(tools) ?? freeNames(tools);
	named.set(tools, known);
	return known;
}

function freeNames(tools: readonly Tool[]): OwnNames {
	const taken = new Set(tools.flatMap(({ name }) => (mayBeOwn(name) ? [name] : [])));
	const free = (name: string): string => (taken.has(name) ? free(`gatehouse_${name}`) : name);
	return { search: free(NAMES.search), execute: free(NAMES.execute), code: free(NAMES.code) };
}

/** Whether a tool of that name may be one of the own: nearly all calls are of others. */
export const mayBeOwn = (name: string): boolean => ROLES.some((role) => name.endsWith(NAMES[role]));

export const roleNamed = (name: string, names: OwnNames = NAMES): Role | null => ROLES.find((role) => names[role] === name) ?? null;

/** Describes the own tools of an exposure, as `tools/list` does. */
export function describeOwn(exposure: Exposure, tools: readonly Tool[]): JsonObject[] {
	const names = ownNames(tools);
	const describing = { names, count: tools.length, runsBy: exposure === 'code' ? names.code : names.execute };
	return LISTED[exposure].map((role) => ({ name: names[role], ...DESCRIBED[role](describing), _meta: { [ROLE_KEY]: role } }));
}

interface Describing {
	names: OwnNames;
	count: number;
	/** The name of the tool that runs what was found. */
	runsBy: string;
}

const DESCRIBED: Readonly<Record<Role, (about: Describing) => JsonObject>> = {
	search: ({ count, runsBy }) => ({
		title: 'Search tools',
		description:
			`Finds tools among the ${count} of this gateway. Say in a few words what you want to do, or give the exact name of a tool. The answer has the best ` +
			`tools first, with the JSON Schemas of their arguments; run them by ${runsBy}.`,
		inputSchema: objectOf(
			{
				query: { type: 'string', minLength: 1, maxLength: MAX_QUERY_CHARS, description: 'A few words, or a name' },
				limit: { type: 'integer', minimum: 1, maximum: MOST_HITS, default: 10, description: 'The most tools to show' },
				withOutput: { type: 'boolean', default: false, description: 'Whether to show what the tools answer, for code that reads it' },
			},
			['query'],
		),
		annotations: { title: 'Search tools', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
	}),
	execute: ({ names }) => ({
		title: 'Execute a tool',
		description: `Runs a tool that ${names.search} found: its name, and arguments that fit its schema. The answer is the tool’s own.`,
		inputSchema: objectOf({ name: { type: 'string', description: 'The name of the tool' }, arguments: { type: 'object' } }, ['name']),
		annotations: { title: 'Execute a tool', readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
	}),
	code: ({ names }) => ({
		title: 'Run code',
		description:
			'Runs JavaScript that calls the tools of this gateway, so that many calls cost one answer. The code is the body of an async function: ' +
			`\`const issues = await tools.list_issues({ state: "open" }); return issues.length;\`. Each tool that ${names.search} finds is a function of \`tools\`, ` +
			'`tools["any-name"]` where the name is no identifier; it takes one object of arguments, resolves with the structured answer (or its text), and ' +
			'throws where the tool fails, or ran and has a larger answer than this gateway allows, which is never handed over in part. Return a JSON value, and only what you need. ' +
			`Bounds: ${BOUNDS.timeoutMs / 1000} s, ${BOUNDS.maxCalls} calls of tools, ` +
			`${BOUNDS.parallelCalls} at once. There are no modules, files and network.`,
		inputSchema: objectOf({ code: { type: 'string', minLength: 1, description: 'The body of an async function' } }, ['code']),
		annotations: { title: 'Run code', readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
	}),
};

const objectOf = (properties: JsonObject, required: string[]): JsonObject => ({
	type: 'object',
	properties,
	required,
	additionalProperties: false,
});
