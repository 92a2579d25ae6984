// POST /organizations/:orgId/tools/:id/execute: one tool run by hand, the way a gateway would run it.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	type Core,
	clientSignal,
	count,
	type Json,
	operation,
	organizationOf,
	type RunResult,
	shape,
	text,
	userIdOf,
} from '../../../core/index.ts';

const BODY = body({
	parameters: Joi.object().unknown().default({}).description('What the tool’s own `parameters` ask for; their defaults are filled in.'),
}).example({ parameters: { id: '7' } });

const RESULT = shape({
	result: Joi.any().description('Data where the tool answers with data, else its text, else its content blocks; null when it failed.'),
	duration: count.description('Milliseconds.'),
	status: Joi.string().valid('success', 'failed'),
	error: shape({ code: Joi.string(), message: text }).optional().description('Of a run that failed.'),
}).meta({ schema: 'ToolRun' });

export const executeTool = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/organizations/{orgId}/tools/{id}/execute',
		id: 'executeTool',
		summary: 'Runs a tool once.',
		description: 'A run that failed is an answer too, with `status: failed`. Arguments that the tool does not take are a 400.',
		need: 'tools:execute',
		body: BODY,
		answer: RESULT,
		errors: ['not_implemented'],
		idempotent: true,
		slow: true,
		handler: (request) => execute(request, core),
	});

/** A run that failed is an answer, not an error (decisions, 8). */
async function execute(request: Request, core: Core) {
	// The body has passed BODY.
	const { parameters } = request.payload as { parameters: Json };
	const caller = {
		method: 'management',
		subject: `user:${userIdOf(request)}`,
		userId: userIdOf(request),
		scopes: ['tools:read', 'tools:execute'] as const,
	};
	const run = await core.invoker.execute(organizationOf(request).id, String(request.params['id']), parameters, {
		caller,
		signal: clientSignal(request),
	});
	if (!run.isError) return { result: plainResult(run), duration: run.durationMs, status: 'success' };
	return { result: null, duration: run.durationMs, status: 'failed', error: failure(run) };
}

/** Data where there is data, else the text, else the blocks as they are. */
function plainResult({ structured, content }: RunResult) {
	if (structured !== undefined) return structured;
	const [first, ...others] = content;
	return first?.type === 'text' && others.length === 0 ? first.text : content;
}

function failure({ error, content }: RunResult) {
	const said = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
	return { code: (error?.code ?? 'tool_error').toUpperCase(), message: error?.message ?? said };
}
