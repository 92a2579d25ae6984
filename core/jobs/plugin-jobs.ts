// The jobs that plugins declare: each is a kind of run.

import { invalid, notFound, PluginFault } from '../contract/errors.ts';
import type { Job, JobHandler, JobOptions, Jobs } from '../contract/jobs.ts';
import type { Json, JsonObject } from '../contract/nouns.ts';
import { measureJson } from '../kit/json.ts';
import { KIND_NAMES } from '../registry/kinds.ts';
import type { RunContext } from '../runs/context.ts';
import type { Run } from '../store/store.ts';
import type { JobScope } from '../tools/job-desk.ts';
import { inAttempts } from './attempts.ts';
import { dedupeOf } from './dedupe.ts';
import {
	inputOf,
	isOfScope,
	openInput,
	openOut,
	revivedCaller,
	revivedReach,
	sealInput,
	sealOut,
	storedCaller,
	storedReach,
} from './envelopes.ts';
import { handleOnce, MAX_DATA_CHARS } from './handling.ts';
import type { DeskParts } from './jobs.ts';

const PLACES = 10;
const PER_ACCOUNT = 3;
/** The greatest number of jobs of one name and account that have not ended. */
const UNFINISHED = 1_000;
const ATTEMPTS = 5;
const PAUSE_MS = { first: 1_000, factor: 4, most: 10 * 60_000 };
const DAY_MS = 24 * 60 * 60 * 1000;
const LONGEST_DEADLINE_MS = 30 * DAY_MS;
const LATEST_MS = 366 * DAY_MS;

const kindOf = (plugin: string, name: string): string => `job.${plugin.replace(':', '.')}.${name}`;

/** Defines a kind of run for each job of each plugin. */
export function definePluginJobs(parts: DeskParts): void {
	for (const plugin of KIND_NAMES.flatMap((kind) => parts.registry.list(kind))) {
		for (const [name, handler] of Object.entries(plugin.jobs ?? {})) {
			const { places = PLACES, perAccount = PER_ACCOUNT } = handler;
			const id = `${plugin.kind}:${plugin.name}`;
			parts.runs.define(kindOf(id, name), (run) => work(run, { plugin: id, name, handler }, parts), {
				...{ places, perAccount, perAccountUnfinished: UNFINISHED },
			});
		}
	}
}

interface Declared {
	plugin: string;
	name: string;
	handler: JobHandler;
}

async function work(run: RunContext, { plugin, name, handler }: Declared, parts: DeskParts): Promise<Json> {
	const { secrets } = parts;
	const row = { ...run, kind: kindOf(plugin, name) };
	const { data = null, caller = null, reach = null, attempts, runAt } = openInput(secrets, row);
	if (typeof runAt === 'string') await run.sleep('due', new Date(runAt));
	const { gatewayId, ref } = inputOf(row);
	const live = parts.live.take(ref);
	const origin = { plugin, organizationId: run.organizationId, gatewayId, caller: revivedCaller(caller), reach: revivedReach(reach) };
	return inAttempts(run, { attempts: Number(attempts), pauseMs: PAUSE_MS }, (attempt, signal) =>
		handleOnce(
			{
				...{ title: `job ${name}`, plugin, handler, id: run.id, attempt, data },
				rebuild: async (own) => (attempt === 1 && live?.(own)) || parts.rebuild({ ...origin, signal: own }),
				tell: (value) => run.progress(sealOut(secrets, row, value)),
				seal: (output) => sealOut(secrets, row, output),
			},
			signal,
		),
	);
}

/** The jobs of one plugin at one place. */
export function jobsAt(scope: JobScope, parts: DeskParts): Jobs {
	const { organizationId, plugin } = scope;
	const { runs, secrets } = parts;
	const prefix = kindOf(plugin, '');
	const find = async (id: string): Promise<Run | null> => {
		const run = await runs.get({ organizationId, id });
		return run?.kind.startsWith(prefix) && isOfScope(run, scope) ? run : null;
	};
	const show = (run: Run): Job => showJob(run, run.kind.slice(prefix.length), parts);
	return {
		async add(name, data, options = {}) {
			const handler = declared(plugin, name, parts);
			const kind = kindOf(plugin, name);
			assertData(data);
			const content: JsonObject = {
				data,
				caller: storedCaller(scope.caller),
				reach: storedReach(scope.reach),
				...settled(handler, options),
			};
			const { here = false, key } = options;
			const input = sealInput(secrets, scope, kind, content);
			const asked = { organizationId, kind, input, deadlineMs: deadlineOf(options) };
			const beginning = { here: here !== false, hereOnly: here === 'only' };
			const leave = beginning.here && scope.goOn ? parts.live.lend(input.ref, scope.goOn) : null;
			try {
				const run = await runs.start({ ...asked, ...beginning, dedupe: key === undefined ? null : dedupeOf(scope, key) });
				if (run.status === 'running' && inputOf(run).ref === input.ref) return { id: run.id };
				leave?.();
				return { id: run.id };
			} catch (error) {
				leave?.();
				throw error;
			}
		},
		async get(id) {
			const run = await find(id);
			return run && show(run);
		},
		cancel: async (id) => (await find(id)) !== null && runs.cancel({ organizationId, id }, 'The job was cancelled.'),
		async *follow(id, signal) {
			if (!(await find(id))) throw notFound('Job');
			for await (const run of runs.follow({ organizationId, id }, signal)) yield run && show(run);
		},
	};
}

function declared(plugin: string, name: string, { registry }: DeskParts): JobHandler {
	const kind = KIND_NAMES.find((one) => plugin.startsWith(`${one}:`));
	const jobs = kind && registry.get(kind, plugin.slice(kind.length + 1))?.jobs;
	const handler = jobs && Object.hasOwn(jobs, name) ? jobs[name] : undefined;
	if (!handler) throw new PluginFault(plugin, `it declares no job ${name}.`);
	return handler;
}

/** Data often comes from a client. @throws validation_failed */
function assertData(data: Json): void {
	const { fault, chars } = measureJson(data, MAX_DATA_CHARS);
	if (fault !== null) throw invalid('/data', `data must be JSON: it ${fault}`);
	if (chars > MAX_DATA_CHARS) throw invalid('/data', `data must have at most ${MAX_DATA_CHARS} characters`);
}

/** @throws validation_failed */
function settled({ attempts: most = ATTEMPTS }: JobHandler, { attempts = most, runAt }: JobOptions): JsonObject {
	if (!Number.isInteger(attempts) || attempts < 1 || attempts > most) throw invalid('/attempts', `attempts must be 1 to ${most}`);
	if (runAt === undefined) return { attempts };
	const inMs = runAt.getTime() - Date.now();
	if (Number.isNaN(inMs) || inMs > LATEST_MS) throw invalid('/runAt', 'runAt must be at most a year from now');
	return { attempts, runAt: runAt.toISOString() };
}

/** @throws validation_failed */
function deadlineOf({ deadlineMs = DAY_MS, runAt }: JobOptions): number {
	if (!(deadlineMs >= 1 && deadlineMs <= LONGEST_DEADLINE_MS)) throw invalid('/deadlineMs', 'deadlineMs must be at most 30 days');
	return deadlineMs + Math.max(0, (runAt?.getTime() ?? 0) - Date.now());
}

function showJob(run: Run, name: string, { secrets }: DeskParts): Job {
	const { id, status, error, createdAt, startedAt, finishedAt } = run;
	const [progress, output] = [openOut(secrets, run, run.progress), openOut(secrets, run, run.output)];
	return { id, name, status, progress, output, error, createdAt, startedAt, finishedAt };
}
