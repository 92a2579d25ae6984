// Agents that run by the clock: a time starts the agent as it is then.

import { asGatewayError, type GatewayError, invalid, notFound } from '../contract/errors.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { nextTime, nextTimes } from '../runs/schedules.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type { AgentRow, AgentScheduleRow, Agents, DueSchedule, NewExecution, NewRun, RunKind, ScheduledExecution } from '../store/store.ts';
import type { AgentAsked, AgentSchedules } from './agents.ts';

export interface ScheduleParts {
	agents: Pick<Agents, 'get' | 'schedule' | 'fire'>;
	secrets: Secrets;
	kind: RunKind;
	/** Returns an input with its defaults. @throws validation_failed */
	complete(agent: AgentRow, input: JsonObject): JsonObject | Promise<JsonObject>;
	runOf(asked: AgentAsked): Promise<{ run: NewRun; execution: NewExecution }>;
}

/** Five fields, so that none comes more often than once a minute, or a name such as `@daily`. */
const FIELDS = /^\s*(?:\S+(?:\s+\S+){4}|@(?:yearly|annually|monthly|weekly|daily|hourly))\s*$/;

function isZone(name: string): boolean {
	try {
		return new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
	} catch {
		return false;
	}
}

const locationOf = ({ organizationId, agentId }: Pick<AgentScheduleRow, 'organizationId' | 'agentId'>): SecretLocation => ({
	...{ organizationId, table: 'agent_schedules', row: agentId },
});

export function createSchedules(parts: ScheduleParts): AgentSchedules & {
	fire(due: DueSchedule, nextAt: Date | null, starts: boolean): Promise<boolean>;
} {
	const { agents, secrets, kind } = parts;
	const inputOf = (row: AgentScheduleRow): JsonObject =>
		secrets.openJson(row.input, locationOf(row), 'The input of the schedule') as JsonObject;
	return {
		inputOf,
		next: (row, count) => nextTimes(row, new Date(), count),
		async set(agent, { cron, timeZone, missed, overlap, input }, by, ifVersion) {
			if (!FIELDS.test(cron)) throw invalid('/cron', 'cron must have five fields: minute, hour, day of the month, month, day of the week.');
			if (!isZone(timeZone)) throw invalid('/timeZone', 'timeZone must be an IANA name, such as Europe/Berlin.');
			const firstAt = nextTime({ cron, timeZone }, new Date());
			if (!firstAt) throw invalid('/cron', 'cron must name a time that is still to come.');
			// Defaults are filled in when it runs, from the schema of that time.
			await parts.complete(agent, structuredClone(input));
			const { organizationId, id: agentId } = agent;
			const sealed = secrets.sealJson(input, locationOf({ organizationId, agentId }));
			const schedule = { cron, timeZone, missed, overlap, input: sealed };
			const planned = { kind: kind.kind, definition: { agentId }, firstAt };
			const row = await by.agents.putSchedule(organizationId, agentId, schedule, planned, ifVersion);
			if (!row) throw notFound('Agent');
			return row;
		},
		async fire(due, nextAt, starts) {
			if (!starts) return agents.fire(due, nextAt, null, null);
			try {
				const started = await startOf(due, parts, inputOf);
				return await agents.fire(due, nextAt, started, null);
			} catch (thrown) {
				const error = asGatewayError(thrown);
				// A fault of the agent, of its input or of its account remains; anything else is tried again.
				if (!error || !LASTING.has(error.code)) throw thrown;
				return agents.fire(due, nextAt, null, error.message);
			}
		},
	};
}

const LASTING = new Set<GatewayError['code']>(['validation_failed', 'rate_limited', 'conflict', 'secret_unreadable', 'not_implemented']);

/** Returns the run of a due time; null when the agent or its schedule is gone. @throws conflict for an inactive agent, validation_failed */
async function startOf(
	{ organizationId, definition }: DueSchedule,
	{ agents, kind, runOf }: ScheduleParts,
	inputOf: (row: AgentScheduleRow) => JsonObject,
): Promise<ScheduledExecution | null> {
	const agentId = isObject(definition) ? String(definition['agentId']) : '';
	const [agent, row] = await Promise.all([agents.get(organizationId, agentId), agents.schedule(organizationId, agentId)]);
	if (!agent || !row) return null;
	const made = await runOf({ organizationId, agent, input: inputOf(row), trigger: 'schedule', startedBy: null });
	return { ...made, kind };
}
