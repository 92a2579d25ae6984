// The schedule of an agent: the times at which it runs by itself.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AgentSchedule,
	type AgentScheduleRow,
	asGatewayError,
	body,
	type Core,
	expectedVersion,
	GatewayError,
	jsonObject,
	notFound,
	operation,
	present,
	requirePermission,
	shape,
	showVersion,
	storeOf,
	text,
	timestamp,
	uuid,
} from '../../../../core/features.ts';
import { findAgent } from '../find.ts';

const cron = Joi.string()
	.min(1)
	.max(200)
	.description('Minute, hour, day of the month, month, day of the week; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.')
	.example('0 7 * * 1-5');
const timeZone = Joi.string()
	.min(1)
	.max(100)
	.description('An IANA name. A time that the clocks skip in spring comes an hour later, one that they repeat in autumn comes once.')
	.example('Europe/Berlin');
const overlap = Joi.string()
	.valid('skip', 'queue', 'allow')
	.description('A time that comes while the former run goes on: is left out, waits for its end, or starts another one.');
const missed = Joi.string()
	.valid('skip', 'once')
	.description('Times at which no replica ran: are left out, or start one run for all of them.');

const SET = body({
	cron: cron.required(),
	timeZone: timeZone.default('UTC'),
	overlap: overlap.default('skip'),
	missed: missed.default('skip'),
	input: jsonObject.default({}).description('The input of each run. It has to match the schema of the agent’s input.'),
}).example({ cron: '0 7 * * 1-5', timeZone: 'Europe/Berlin', input: { name: 'Ada' } });

const SCHEDULE = shape({
	agentId: uuid,
	cron,
	timeZone,
	overlap,
	missed,
	input: jsonObject,
	nextRuns: Joi.array().items(timestamp).description('The next five times.'),
	problem: text.allow(null).description('Why the latest time started no run: the agent is inactive, or the input does not fit any more.'),
	createdAt: timestamp,
	updatedAt: timestamp,
}).meta({ schema: 'AgentSchedule' });

const SHOWN = 5;
const PLACE = '/agents/{id}/schedule';

export const scheduleRoutes = (core: Core): ServerRoute[] => [getSchedule(core), setSchedule(core), deleteSchedule(core)];

const getSchedule = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: PLACE,
		id: 'getAgentSchedule',
		summary: 'Shows the schedule of an agent with its next five times.',
		need: 'agents:read',
		answer: SCHEDULE,
		versioned: true,
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			const row = await core.store.agents.schedule(organizationId, id);
			if (!row) throw notFound('Schedule');
			return show(request, row, core);
		},
	});

const setSchedule = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: PLACE,
		id: 'setAgentSchedule',
		summary: 'Lets an agent run by the clock; a schedule that it has is replaced.',
		description:
			'Each time starts one execution with the trigger `schedule`, on whichever replica, of the agent as it is then. An inactive agent is not started. ' +
			'The caller needs `agents:execute`, too. ' +
			'With `If-Match` and the `ETag` of the schedule, nothing is set when somebody has changed it since.',
		need: 'agents:write',
		body: SET,
		integers: 'exact',
		answer: SCHEDULE,
		versioned: true,
		conditional: true,
		handler: async (request) => {
			requirePermission(request, 'agents:execute');
			const agent = await findAgent(request, core);
			// The body has passed SET.
			const schedule = request.payload as AgentSchedule;
			const row = await naming(() => core.agents.schedules.set(agent, schedule, storeOf(request, core), expectedVersion(request)));
			return show(request, row, core);
		},
	});

/** @throws validation_failed naming the field of the body */
async function naming(work: () => Promise<AgentScheduleRow>): Promise<AgentScheduleRow> {
	try {
		return await work();
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error?.code !== 'validation_failed') throw thrown;
		const details = error.details.map(({ path, message }) =>
			path === '/cron' || path === '/timeZone' ? { path, message } : { path: `/input${path === '/' ? '' : path}`, message },
		);
		throw new GatewayError('validation_failed', error.message, { details });
	}
}

const deleteSchedule = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: PLACE,
		id: 'deleteAgentSchedule',
		summary: 'Removes the schedule of an agent; what it started goes on.',
		need: 'agents:write',
		answer: shape({ agentId: uuid }),
		versioned: true,
		handler: async (request) => {
			const { id, organizationId } = await findAgent(request, core);
			if (!(await storeOf(request, core).agents.removeSchedule(organizationId, id, expectedVersion(request)))) throw notFound('Schedule');
			return { agentId: id };
		},
	});

function show(request: Request, row: AgentScheduleRow, { agents }: Core) {
	showVersion(request, row.version);
	const { schedules } = agents;
	return present(SCHEDULE, row, { input: schedules.inputOf(row), nextRuns: schedules.next(row, SHOWN).map((at) => at.toISOString()) });
}
