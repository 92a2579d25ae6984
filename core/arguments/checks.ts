// Checks arguments against the `parameters` of their tool: on the event loop if that takes milliseconds, else in a thread.

import { GatewayError, invalid } from '../contract/errors.ts';
import type { Json, JsonObject, JsonSchema, Tool } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { SizedCache } from '../kit/sized-cache.ts';
import { compileCacheFolder } from '../process/compile-cache.ts';
import type { AccountOf } from '../shared/accounts.ts';
import { type ArgumentCheck, compileSchema, invalidArguments, type Reading, WRITTEN } from './compile.ts';
import { effortOf, MAX_EFFORT } from './effort.ts';
import { dropFilled } from './filled.ts';
import { assertFewLooks, type Weight, weighQuickly } from './looks.ts';
import type { CheckTask, SchemaSource, SchemaText } from './messages.ts';
import { OutputChecks } from './outputs.ts';
import { CheckPool } from './pool.ts';
import { Redactions } from './redactions.ts';
import { bytesOf, fits, measureSize, SMALL_SIZE } from './size.ts';
import type { CheckEnding, CheckPhase } from './thread.ts';

const CACHE_BYTES = 64 * 1024 * 1024;
const POINTER = '/parameters';
/** Time for which an unusable whole schema is not retried, and the bytes of the cache of such tools. */
const SPARED_MS = 10 * 60_000;
const SPARED_BYTES = 1024 * 1024;

/** A compiled small schema; null for a large one, which only threads keep. */
type CachedCheck = { check: ArgumentCheck; weight: Weight } | null;

/** A tool whose arguments are checked. */
export interface Checked {
	tool: Tool;
	/** Reads the complete schema, if `tool.parameters` are the reduced form for models. @returns null when it no longer exists */
	whole: (() => Promise<SchemaText | null>) | null;
	/** Arguments that a stored credential supplies: they are removed from `tool.parameters` and from the arguments that are checked. */
	filled: readonly string[];
	/** Whether `format` of the schema is checked. */
	assertsFormats: boolean;
}

export interface ArgumentChecks {
	/**
	 * Accepts a schema as a tool's `parameters`: an object at its root, valid, and neither too large to compile nor too interlinked to check.
	 * @param organizationId the organization whose account's threads are used. @throws validation_failed naming the pointer, rate_limited
	 */
	admit(schema: JsonSchema, organizationId: string, signal: AbortSignal): Promise<void>;
	/** Checks arguments. @returns the arguments with defaults filled in. @throws validation_failed naming the pointers, rate_limited */
	complete(checked: Checked, args: Json, signal: AbortSignal): JsonObject | Promise<JsonObject>;
	/** The checks of results. */
	outputs: Pick<OutputChecks, 'faults' | 'faultsByContent'>;
	/** The redaction of what the request log keeps. */
	redactions: Pick<Redactions, 'add'>;
	/** Ends the threads. Redactions are awaited for a moment, and fail after it. */
	close(): Promise<void>;
}

export function createArgumentChecks(accountOf: AccountOf): ArgumentChecks {
	const known = new SizedCache<CachedCheck>(CACHE_BYTES);
	const compileCache = compileCacheFolder();
	const pool = new CheckPool({ compileCache, does: 'checks' });
	const redactions = new Redactions(new CheckPool({ compileCache, does: 'redactions' }), accountOf);
	const parts: Threads = { pool, accountOf, spared: new SizedCache(SPARED_BYTES) };
	const knownOf = (checking: Checking): CachedCheck => {
		const key = keyOf(checking.tool);
		const found = known.get(key);
		if (found !== undefined) return found;
		const { prepared, sizeBytes } = prepare(checking);
		known.put(key, prepared, sizeBytes);
		return prepared;
	};
	const completeShown = (checking: Checking): JsonObject | Promise<JsonObject> => {
		const small = knownOf(checking);
		const { args } = checking;
		if (!small || effortOf(args, small.weight, { isParsed: true }) > MAX_EFFORT) return completeInThread(checking, parts);
		const faults = small.check(args);
		if (faults.length > 0) throw invalidArguments(faults);
		return args;
	};
	return {
		async admit(schema, organizationId, signal) {
			const size = measureSize(schema, POINTER);
			const weight = fits(size, SMALL_SIZE) ? weighQuickly(schema) : null;
			if (weight) {
				assertFewLooks(weight, POINTER);
				compileSchema(schema, WRITTEN);
				return;
			}
			const order = { account: await accountOf(organizationId), organization: organizationId, sizeBytes: bytesOf(size), signal };
			const ending = await pool.use(order, (run) => run({ type: 'admit', schema }));
			if (ending.type !== 'admitted') throw refusal(ending, 'compiling');
		},
		complete({ tool, whole, filled, assertsFormats }, given, signal) {
			assertObject(given);
			const checking = { tool, assertsFormats, args: dropFilled(given, filled), signal };
			if (!whole || isSpared(tool, parts)) return completeShown(checking);
			return completeByWhole(checking, whole, parts).then((complete) => complete ?? completeShown(checking));
		},
		outputs: new OutputChecks(pool, accountOf),
		redactions,
		async close() {
			pool.close();
			await redactions.close();
		},
	};
}

const keyOf = ({ id, version }: Tool): string => `${id}:${version}`;

/** A default in the description of an API is documentation, and never sent (decisions, 8). */
const readingOf = ({ tool, assertsFormats }: Checking): Reading => ({
	filling: tool.apiId === null ? 'defaults' : 'constants',
	assertsFormats,
});

function prepare(checking: Checking): { prepared: CachedCheck; sizeBytes: number } {
	const { tool } = checking;
	const size = measureSize(tool.parameters, POINTER);
	const weight = fits(size, SMALL_SIZE) ? weighQuickly(tool.parameters) : null;
	if (!weight) return { prepared: null, sizeBytes: 100 };
	const { check, fills } = compileSchema(tool.parameters, readingOf(checking));
	return { prepared: { check, weight: fills ? weight : { ...weight, members: 0 } }, sizeBytes: bytesOf(size) };
}

interface Checking extends Pick<Checked, 'tool' | 'assertsFormats'> {
	args: JsonObject;
	signal: AbortSignal;
}

interface Threads {
	pool: CheckPool;
	accountOf: AccountOf;
	/** Tools whose whole schema was unusable, each with the time until which it is not retried. */
	spared: SizedCache<number>;
}

async function completeInThread(checking: Checking, parts: Threads): Promise<JsonObject> {
	const { tool } = checking;
	const { ending } = await checkInThread(checking, parts, { key: keyOf(tool), schema: async () => ({ schema: tool.parameters }) });
	return completed(ending, checking.args);
}

/** Checks against the whole schema; null when it does not exist or no thread can use it. */
async function completeByWhole(checking: Checking, whole: () => Promise<SchemaText | null>, parts: Threads): Promise<JsonObject | null> {
	const { ending, hasCompiled } = await checkInThread(checking, parts, { key: `whole:${keyOf(checking.tool)}`, schema: whole });
	if (hasCompiled && ending.type !== 'checked') spare(checking.tool, parts);
	return hasCompiled && ending.type !== 'checked' ? null : completed(ending, checking.args);
}

function isSpared(tool: Tool, { spared }: Threads): boolean {
	const until = spared.get(keyOf(tool));
	return until !== undefined && until > Date.now();
}

const spare = (tool: Tool, { spared }: Threads): void => spared.put(keyOf(tool), Date.now() + SPARED_MS, 100);

/** A schema, and the key by which a thread caches it. */
interface Keyed {
	key: string;
	schema: () => Promise<SchemaSource | null>;
}

/** Runs a check in a thread. `hasCompiled`: the thread did not have the schema cached. */
async function checkInThread(
	checking: Checking,
	{ pool, accountOf }: Threads,
	{ key, schema }: Keyed,
): Promise<{ ending: CheckEnding; hasCompiled: boolean }> {
	const { tool, args, signal } = checking;
	const text = JSON.stringify(args);
	const { organizationId } = tool;
	const order = { account: await accountOf(organizationId), organization: organizationId, sizeBytes: text.length, signal };
	const task: CheckTask = { type: 'check', key, schema: null, reading: readingOf(checking), args: text };
	return pool.use(order, async (run) => {
		const first = await run(task);
		if (first.type !== 'unknown') return { ending: first, hasCompiled: false };
		const needed = await schema();
		return { ending: needed === null ? first : await run({ ...task, schema: needed }), hasCompiled: true };
	});
}

function completed(ending: CheckEnding, args: JsonObject): JsonObject {
	if (ending.type !== 'checked') throw refusal(ending, 'checking');
	if (ending.faults.length > 0) throw invalidArguments(ending.faults);
	// The thread received an object, so it returns one.
	return ending.args === null ? args : (JSON.parse(ending.args) as JsonObject);
}

const tooSlowToCompile = () =>
	invalid(POINTER, `${POINTER} takes more than five seconds to compile: make it smaller, or its patterns shorter.`);
const tooSlowToCheck = () => invalid('', 'These arguments take more than a second to be checked: send less at once.');

/** @param brokenIn the phase in which a thread that died is taken to have been */
function refusal(ending: CheckEnding, brokenIn: CheckPhase): Error {
	if (ending.type === 'refused') return new GatewayError(ending.code, ending.message, { details: ending.details });
	if (ending.type === 'crashed') return new Error(`A checking thread failed: ${ending.stack}`);
	return (ending.type === 'late' ? ending.phase : brokenIn) === 'compiling' ? tooSlowToCompile() : tooSlowToCheck();
}

function assertObject(args: Json): asserts args is JsonObject {
	if (isObject(args)) return;
	const kind = Array.isArray(args) ? 'an array' : args === null ? 'null' : typeof args;
	throw invalidArguments([{ path: '', message: `must be an object, got ${kind}.` }]);
}
