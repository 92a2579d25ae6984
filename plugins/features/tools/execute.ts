// POST /organizations/:orgId/tools/:id/execute: runs one tool by hand, as a gateway would run it.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	asGatewayError,
	body,
	type Core,
	clientOf,
	clientSignal,
	count,
	GatewayError,
	type Json,
	jsonObject,
	type ModelUse,
	operation,
	organizationOf,
	type RunResult,
	shape,
	text,
} from '../../../core/features.ts';

const BODY = body({
	parameters: Joi.object().unknown().default({}).description('Arguments by the tool’s own `parameters`, whose defaults are filled in.'),
}).example({ parameters: { id: '7' } });

const QUERY = Joi.object({
	dryRun: Joi.boolean()
		.default(false)
		.description('Sends nothing and returns the `request` that would be sent: arguments are checked as usual, secrets are hidden.'),
});

const tokens = count.allow(null);
const MILLION = 1_000_000;

const RESULT = shape({
	result: Joi.any().description(
		'The tool’s data if it returned data, else its text, else its content blocks; null for failed and dry runs.',
	),
	duration: count.description('Milliseconds.'),
	status: Joi.string().valid('success', 'failed'),
	error: shape({ code: Joi.string(), message: text }).optional().description('The error of a failed run.'),
	request: jsonObject
		.optional()
		.description(
			'The request of a dry run: `method`, `url`, `headers` and `body` of an HTTP request, `bodyEncoding` saying whether the body is `text` or ' +
				'`base64`, without the headers that frame it (host, content-length, connection); tools that speak another protocol show theirs. ' +
				'`••••` replaces secrets.',
		),
	notes: Joi.array().items(text).optional().description('Notes on data that was cut or is missing in the result.'),
	usage: shape({ calls: count, inputTokens: tokens, outputTokens: tokens, cachedTokens: tokens })
		.optional()
		.description('What the run used of models, if it called any; null where a provider did not tell.'),
	cost: Joi.number().allow(null).optional().description('US dollars that its calls of models cost; null when a price is unknown.'),
	logs: Joi.array().items(Joi.string()).optional().description('The lines that the tool printed; absent when it printed nothing.'),
}).meta({ schema: 'ToolRun' });

export const executeTool = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/organizations/{orgId}/tools/{id}/execute',
		id: 'executeTool',
		summary: 'Runs a tool once.',
		description:
			'A failed run is a result too, with `status: failed`. Invalid arguments are a 400. A dry run decrypts no ' +
			'secret, requests no token and is not recorded; tools that cannot show their request get a 501, and those that ask their user a 422. ' +
			'Whoever calls this decides by hand: `confirm`, limits and `maxResultBytes` of assignments are those of gateways and do not hold here, and `annotations` of the tool ' +
			'are hints for models, which hold nothing back.',
		need: 'tools:execute',
		query: QUERY,
		body: BODY,
		bodyIs: 'optional',
		integers: 'exact',
		answer: RESULT,
		errors: ['not_implemented', 'conflict', 'secret_unreadable'],
		idempotent: true,
		slow: true,
		handler: (request) => execute(request, core),
	});

/** Runs the tool. A failed run is a result, not an error (decisions, 8). */
async function execute(request: Request, core: Core) {
	// The body has passed BODY.
	const { parameters } = request.payload as { parameters: Json };
	// The query has passed QUERY.
	const { dryRun } = request.query as { dryRun: boolean };
	// Jobs that the tool begins are checked by the caller's credential.
	const caller = { ...(await core.callerOf(request)), method: 'management' };
	const { userAgent } = clientOf(request, core);
	const by = { caller, signal: clientSignal(request), isDry: dryRun, asked: { requestId: request.info.id, userAgent } };
	const run = await core.invoker.execute(organizationOf(request).id, String(request.params['id']), parameters, by).catch(blameBody);
	if (run.request) return { result: null, duration: run.durationMs, status: 'success', request: run.request };
	const printed = { ...(run.logs && { logs: run.logs }), ...remarks(run), ...used(run.use) };
	// A user who may run the tool by hand can have the secret entered again.
	if (run.error?.code === 'secret_unreadable') throw new GatewayError(run.error.code, run.error.message);
	if (!run.isError) return { result: plainResult(run), duration: run.durationMs, status: 'success', ...printed };
	return { result: null, duration: run.durationMs, status: 'failed', error: failure(run), ...printed };
}

/** Moves faults of the arguments to where the body has them. */
function blameBody(error: unknown): never {
	const known = asGatewayError(error);
	if (known?.code !== 'validation_failed') throw error;
	const details = known.details.map(({ path, message }) => ({ path: `/parameters${path}`, message }));
	throw new GatewayError('validation_failed', known.message, { details, cause: error });
}

/** Adds notes on data that was cut or is missing. */
function remarks({ structured, content }: RunResult): { notes?: string[] } {
	const texts = structured === undefined ? [] : content.slice(1).flatMap((block) => (block.type === 'text' ? [block.text] : []));
	return texts.length === 0 ? {} : { notes: texts };
}

/** Tells what a run used of models. */
function used(use: ModelUse | undefined) {
	if (!use) return {};
	const { costMicroUsd, ...usage } = use;
	return { usage, cost: costMicroUsd === null ? null : costMicroUsd / MILLION };
}

/** Returns the data of a result where there is any, else its text, else the blocks as they are. */
function plainResult({ structured, content }: RunResult) {
	if (structured !== undefined) return structured;
	const [first, ...others] = content;
	return first?.type === 'text' && others.length === 0 ? first.text : content;
}

function failure({ error, content }: RunResult) {
	const said = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
	return { code: (error?.code ?? 'tool_error').toUpperCase(), message: error?.message ?? said };
}
