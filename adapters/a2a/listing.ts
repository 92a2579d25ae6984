// Lists the tasks of a caller, the last changed first, page by page.

import type { Json, JsonObject, StoredRecord } from '../../core/index.ts';
import { A2AError, wrong } from './errors.ts';
import { withArtifacts } from './large-artifacts.ts';
import type { MethodCall } from './methods.ts';
import { flagAt, historyLengthAt, stateAt, textAt, timeAt, wholeAt } from './reading.ts';
import { ANONYMOUS, ownerOf, show, type Task, toTask } from './tasks.ts';
import { asJson, type TaskState, type WireTask } from './wire.ts';

const PAGE = 50;
const MOST = 100;
const MAX_TOKEN_CHARS = 4096;
const TOKEN_MS = 24 * 3_600_000;
/** Tasks that are read at a time where they are shown with all they hold. */
const STEP = 10;
/** The most characters of a page; it ends earlier where they are reached. */
const MAX_CHARS = 4 * 1024 * 1024;
/** Counting ends there. */
const COUNTED = 1_000;
/** The time by which the clocks of replicas and database may differ. */
const SKEW_MS = 60_000;

interface Filter {
	all: string[];
	after: Date | null;
}

export async function listTasks(asked: MethodCall): Promise<JsonObject> {
	const { params, at, call } = asked;
	const [contextId, state] = [textAt(params.contextId, `${at}/contextId`), stateAt(params.status, `${at}/status`)];
	const after = timeAt(params.statusTimestampAfter, `${at}/statusTimestampAfter`);
	const pageSize = wholeAt(params.pageSize, `${at}/pageSize`, { min: 1, max: MOST }) ?? PAGE;
	const historyLength = historyLengthAt(params.historyLength, `${at}/historyLength`) ?? 0;
	const artifacts = flagAt(params.includeArtifacts, `${at}/includeArtifacts`) ?? false;
	const filter = { all: tagsFor(asked, contextId, state), after };
	const cursor = cursorOf(params.pageToken, asked, filter);
	const [{ tasks, next }, totalSize] = [
		await pageOf(asked, filter, { cursor, pageSize, shown: { historyLength, artifacts } }),
		await countOf(asked, filter),
	];
	const nextPageToken = next === null ? '' : call.seals.seal({ filter: keyOf(filter), cursor: next }, TOKEN_MS);
	return { tasks: tasks.map(asJson), nextPageToken, pageSize, totalSize };
}

/** Nobody is told of the tasks of strangers: callers without a credential have to know the context. @throws A2AError */
function tagsFor({ call }: MethodCall, contextId: string | null, state: TaskState | null): string[] {
	const owner = ownerOf(call);
	if (owner === ANONYMOUS && contextId === null)
		throw new A2AError('UNSUPPORTED_OPERATION', 'Callers without a credential list the tasks of one contextId: name it.');
	return ['task', `owner:${owner}`, ...(contextId === null ? [] : [`context:${contextId}`]), ...(state === null ? [] : [`state:${state}`])];
}

const keyOf = ({ all, after }: Filter): Json => [...all, after?.toISOString() ?? ''];

function cursorOf(token: Json | undefined, { at, call }: MethodCall, filter: Filter): string | null {
	const text = textAt(token, `${at}/pageToken`, MAX_TOKEN_CHARS);
	if (text === null) return null;
	const kept = call.seals.unseal(text) as { filter: Json; cursor: string } | null;
	if (JSON.stringify(kept?.filter) === JSON.stringify(keyOf(filter))) return kept?.cursor ?? null;
	throw wrong(`${at}/pageToken`, 'pageToken is not one of this list, or has expired: list again from the start.');
}

interface Page {
	cursor: string | null;
	pageSize: number;
	shown: { historyLength: number; artifacts: boolean };
}

async function pageOf({ call }: MethodCall, filter: Filter, page: Page): Promise<{ tasks: WireTask[]; next: string | null }> {
	const { pageSize, shown } = page;
	const tasks: WireTask[] = [];
	let [next, chars] = [page.cursor, 0];
	const isHeavy = shown.artifacts || shown.historyLength > 0;
	do {
		const limit = Math.min(pageSize - tasks.length, isHeavy ? STEP : MOST);
		const { records, nextCursor } = await call.records.find(
			{ all: filter.all },
			{ sort: '-updatedAt', limit, ...(next !== null && { cursor: next }) },
		);
		for (const record of records) {
			const task = toTask(record);
			if (!isAfter(task, filter)) continue;
			const wire = show(shown.artifacts ? await withArtifacts(task, call) : task, shown);
			chars += isHeavy ? JSON.stringify(wire).length : 0;
			tasks.push(wire);
		}
		next = isOver(records.at(-1), filter) ? null : nextCursor;
	} while (next !== null && tasks.length < pageSize && chars < MAX_CHARS);
	return { tasks, next };
}

const isAfter = ({ statusAt }: Task, { after }: Filter): boolean => after === null || Date.parse(statusAt) >= after.getTime();

/** A task changes with its status, so that those behind one that changed before are older still. */
const isOver = (last: StoredRecord | undefined, { after }: Filter): boolean =>
	after !== null && last !== undefined && last.updatedAt.getTime() < after.getTime() - SKEW_MS;

async function countOf({ call }: MethodCall, filter: Filter): Promise<number> {
	if (filter.after === null) return call.records.count({ all: filter.all }, COUNTED);
	let [count, seen, cursor] = [0, 0, null as string | null];
	do {
		const page = { sort: '-updatedAt', limit: MOST, ...(cursor !== null && { cursor }) };
		const { records, nextCursor } = await call.records.find({ all: filter.all }, page);
		count += records.filter((record) => isAfter(toTask(record), filter)).length;
		seen += records.length;
		cursor = isOver(records.at(-1), filter) ? null : nextCursor;
	} while (cursor !== null && seen < COUNTED);
	return count;
}
