// The token ledger of a gateway: what its lists and the answers of its tools cost a model, and which fields to cut.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	bucketAt,
	type Core,
	count,
	lengthOf,
	type MetricRange,
	notFound,
	operation,
	organizationOf,
	percentile,
	type Sums,
	shape,
	text,
	uuid,
} from '../../../core/features.ts';
import { namesOf } from './names.ts';
import { ANSWERED, answered, RANGE, rangeOf } from './ranges.ts';

const CHARS_PER_TOKEN = 4;
/** The fields that are read, of all tools together, and those that are shown of each. */
const FIELDS = 2000;
const FIELDS_SHOWN = 10;

const tokens = Joi.number().min(0);

const FIELD = shape({
	path: text
		.description('A pointer into the data of the answer, with `*` for the items of a list and the members of a map.')
		.example('/items/*/html'),
	tokens: tokens.description('The mean, in the answers that have it.'),
	share: Joi.number().min(0).description('Its part of all tokens of the answers that were measured. Fields contain each other.'),
	samples: count.description('The measured answers that have it.'),
});

const TOOL = shape({
	toolId: uuid,
	name: text.allow(null).description('The present name of the tool; null when it is gone.'),
	answers: count.description('Successful runs through this gateway.'),
	tokens: tokens.description('Of all these answers together.'),
	mean: tokens,
	p50: tokens.description('Half of the answers had no more. Percentiles are right to a fifth.'),
	p95: tokens,
	fields: Joi.array().items(FIELD).description(`The ${FIELDS_SHOWN} largest ones: those to cut first.`),
}).meta({ schema: 'ToolTokens' });

const LEDGER = shape({
	...ANSWERED,
	lists: Joi.object()
		.pattern(Joi.string(), count)
		.allow(null)
		.description('Tokens of the lists that clients get, as `tokens` of the gateway.')
		.example({ full: 4210, search: 310, code: 290 }),
	tools: Joi.array().items(TOOL).description('Those whose answers cost most, descending.'),
}).meta({ schema: 'TokenLedger' });

export const ledgerRoute = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/analytics/gateways/{id}/tokens',
		id: 'getTokenLedger',
		summary: 'Shows what the lists of a gateway and the answers of its tools cost a model.',
		description:
			'Tokens are estimated: a quarter of the characters. Fields are measured in the first answer of a tool and in each twentieth, in each process. The time is that of whole ' +
			'hours or days.',
		need: 'analytics:read',
		query: Joi.object({ ...RANGE, limit: Joi.number().integer().min(1).max(200).default(50).description('The greatest number of tools.') }),
		answer: LEDGER,
		handler: (request) => ledger(request, core),
	});

async function ledger(request: Request, core: Core) {
	const { id: organizationId, slug } = organizationOf(request);
	const gateway = await core.store.gateways.get(organizationId, String(request.params['id']));
	if (!gateway) throw notFound('Gateway');
	const range = wholeHours(rangeOf(request, 'list'));
	// The query has passed the route's schema.
	const { limit } = request.query as { limit: number };
	const of = { prefix: `${gateway.id} ` };
	const mayList = request.auth.credentials.permissions.has('tools:read');
	const [answers, fields, lists] = await Promise.all([
		core.store.analytics.top(organizationId, range, { ...of, dimension: 'answer', by: 'outputTokens', limit }),
		core.store.analytics.top(organizationId, range, { ...of, dimension: 'field', by: 'bytesOut', limit: FIELDS }),
		mayList ? core.runtime.tokens(slug, gateway.endpoint) : null,
	]);
	const names = await namesOf(answers.map(toolOf), organizationId, core);
	return { ...answered(range), lists, tools: presentTools(answers, fields).map((tool) => ({ ...tool, name: names(tool.toolId) })) };
}

const toolOf = ({ value }: { value: string }): string => value.split(' ')[1] ?? '';

type OfValue = Sums & { value: string };

/** Shows the answers of each tool with the fields that are its own. */
export function presentTools(answers: readonly OfValue[], fields: readonly OfValue[]) {
	const byTool = Map.groupBy(fields, toolOf);
	return answers.map((sums) => {
		const toolId = toolOf(sums);
		return { toolId, ...presentAnswers(sums, byTool.get(toolId) ?? []) };
	});
}

/** Answers are summed by hours and days. */
function wholeHours<R extends Omit<MetricRange, 'kind'>>(range: R): R & { kind: 'tool' } {
	if (range.resolution !== 'minute') return { ...range, kind: 'tool' };
	const since = new Date(bucketAt('hour', range.since.getTime()));
	const until = new Date(bucketAt('hour', range.until.getTime() - 1) + lengthOf('hour'));
	return { ...range, resolution: 'hour', since, until, kind: 'tool' };
}

function presentAnswers(sums: Sums, fields: readonly OfValue[]) {
	const { calls, outputTokens, histogram } = sums;
	const mean = outputTokens / Math.max(1, calls);
	// The first field that is measured is in every sample.
	const samples = Math.max(1, ...fields.map((field) => field.calls));
	return {
		...{ answers: calls, tokens: outputTokens, mean: rounded(mean) },
		...{ p50: rounded(percentile(histogram, 0.5) ?? 0), p95: rounded(percentile(histogram, 0.95) ?? 0) },
		fields: fields.slice(0, FIELDS_SHOWN).map(({ value, calls: seen, bytesOut }) => ({
			path: value.split(' ').slice(2).join(' '),
			tokens: rounded(bytesOut / CHARS_PER_TOKEN / Math.max(1, seen)),
			share: rounded(Math.min(1, bytesOut / CHARS_PER_TOKEN / samples / Math.max(1, mean))),
			samples: seen,
		})),
	};
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
