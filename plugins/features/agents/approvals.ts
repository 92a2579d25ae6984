// The questions that executions ask people: listed for those who may answer, and answered.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type Approvers,
	actorOf,
	asGatewayError,
	body,
	type Core,
	type Execution,
	GatewayError,
	invalid,
	isSameAddress,
	type Json,
	listQuery,
	operation,
	organizationOf,
	page,
	pageOf,
	type QuestionRow,
	type Role,
	storeOf,
} from '../../../core/features.ts';
import { findAgent, findExecution } from './find.ts';
import { APPROVAL, EXECUTION, presentApproval, presentExecution } from './present.ts';

export const ANSWER = Joi.any().required().description('It has to match the `schema` of the question.');

const APPROVE = body({
	answer: ANSWER,
	key: Joi.string().min(1).max(1000).description('Names the question, when the execution asks several.'),
}).example({ answer: { approved: true } });

interface Approved {
	answer: Json;
	key?: string;
}

/** A person who would answer. */
export interface Person {
	email: string;
	role: Role | null;
}

export const mayAnswer = (approvers: Approvers | null, { email, role }: Person): boolean =>
	!approvers ||
	(role !== null && approvers.roles?.includes(role) === true) ||
	approvers.emails?.some((one) => isSameAddress(one, email)) === true;

const personOf = (request: Request): Person => ({ email: actorOf(request).email, role: request.auth.credentials.role });

export const approvalRoutes = (core: Core): ServerRoute[] => [listAll(core), listOfAgent(core), approve(core)];

const LISTED = { need: 'agents:execute', query: listQuery(), answer: page('approvals', APPROVAL) } as const;

const listAll = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/approvals',
		id: 'listApprovals',
		summary: 'Lists the questions of all agents that wait for you.',
		...LISTED,
		handler: (request) => list(request, core, {}),
	});

const listOfAgent = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/agents/{id}/approvals',
		id: 'listAgentApprovals',
		summary: 'Lists the questions of an agent’s executions that wait for you.',
		...LISTED,
		handler: async (request) => list(request, core, { agentId: (await findAgent(request, core)).id }),
	});

/** Questions for others are left out, so a page may have fewer than its limit. */
async function list(request: Request, { store }: Core, filter: { agentId?: string }) {
	const person = personOf(request);
	const { items, nextCursor } = await store.agents.questions(organizationOf(request).id, pageOf(request), filter);
	return { approvals: items.filter(({ approvers }) => mayAnswer(approvers, person)).map(presentApproval), nextCursor };
}

const approve = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/agents/{id}/executions/{execId}/approve',
		id: 'approveAgentExecution',
		summary: 'Answers the question that an execution waits for.',
		description: 'The first answer counts. An answer that rejects is given in the same way: what it means is up to the node.',
		need: 'agents:execute',
		body: APPROVE,
		integers: 'exact',
		answer: EXECUTION,
		errors: ['conflict'],
		handler: async (request) => {
			const { run } = await findExecution(request, core);
			// The body has passed APPROVE.
			const { answer, key } = request.payload as Approved;
			const question = await chosen(core, run, key);
			if (!mayAnswer(question.approvers, personOf(request))) throw new GatewayError('forbidden', 'This question is for others.');
			await settle(core, question, answer);
			await storeOf(request, core).agents.answered(run.organizationId, run.id, question.key, actorOf(request).email);
			return presentExecution(await findExecution(request, core), false);
		},
	});

/** @throws conflict, validation_failed */
async function chosen({ agents }: Core, run: Execution['run'], key: string | undefined): Promise<QuestionRow> {
	const [first, second] = await agents.waiting(run);
	if (!first) throw new GatewayError('conflict', 'The execution waits for no approval.');
	// It may wait for more answers than are listed at once.
	const [question] = key === undefined ? [first] : await agents.waiting(run, key);
	if (!question) throw invalid('/key', 'key names no question that the execution waits for.');
	if (key === undefined && second) throw invalid('/key', 'key is required: the execution waits for several answers.');
	return question;
}

/** Gives the answer to the run. @throws validation_failed naming the field; conflict when somebody else was faster */
export async function settle({ agents }: Core, { organizationId, runId, key }: QuestionRow, answer: Json): Promise<void> {
	try {
		await agents.answer({ organizationId, id: runId }, key, answer);
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error?.code !== 'validation_failed') throw thrown;
		const details = error.details.map(({ path, message }) => ({ path: path.startsWith('/answer') ? path : `/answer${path}`, message }));
		const [first] = details;
		throw new GatewayError('validation_failed', first ? `${first.path} ${first.message}` : error.message, { details });
	}
}
