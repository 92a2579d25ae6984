// The fields of model connections, as bodies set them.

import Joi from 'joi';
import { body, displayName, httpUrl } from '../../../core/features.ts';

const price = Joi.number().min(0).max(1_000_000_000);
const dollars = Joi.number().positive().max(1_000_000);
const model = Joi.string().min(1).max(200);

const configuration = Joi.object({
	temperature: Joi.number().min(0).max(2),
	topP: Joi.number().min(0).max(1),
	maxTokens: Joi.number().integer().min(1).max(1_000_000).description('The most tokens of an answer.'),
	stop: Joi.array().items(Joi.string().min(1).max(200)).max(8),
	seed: Joi.number().integer().min(0).max(2_147_483_647),
	extra: Joi.object().unknown().max(50).description('Members of the provider’s own request.').custom(small, 'at most 16,384 characters'),
})
	.description('Default parameters of its calls.')
	.meta({ schema: 'LlmConfiguration' });

const prices = Joi.object()
	.pattern(
		model,
		Joi.object({
			input: price.required(),
			output: price.required(),
			cached: price.description('Of input that the provider had in its cache. Default: as `input`.'),
			written: price.description('Of input that the provider wrote to its cache. Default: as `input`.'),
			hour: price.description('Of input that the provider wrote to its cache for an hour. Default: as `written`.'),
		}),
	)
	.max(200)
	.description('The organization’s own prices by model: US dollars for a million tokens. They replace those of the public list.');

const budget = Joi.object({
	perCall: dollars.description('The most that one call may cost.'),
	perMonth: dollars.description('The most that the calls of a month (UTC) may cost.'),
})
	.min(1)
	.description(
		'In US dollars. A call that could exceed it is refused before it is sent. A change replaces the whole object, null removes it.',
	)
	.meta({ schema: 'LlmBudget' });

const outbound = Joi.object({
	maxConcurrent: Joi.number().integer().min(1).max(1000).description('Concurrent calls, of all replicas together.'),
	minTimeMs: Joi.number().integer().min(0).max(60_000).description('Milliseconds between the starts of two calls.'),
	maxQueued: Joi.number().integer().min(0).max(10_000).description('Calls that may wait; further ones fail at once.'),
	maxWaitMs: Joi.number().integer().min(100).max(60_000).description('Milliseconds that a call waits before it fails.'),
})
	.or('maxConcurrent', 'minTimeMs')
	.description('Limits its calls. A change replaces the whole object, null removes it.');

const apiKey = Joi.string().min(1).max(4096).description('The key at the provider. It is encrypted, and never shown.');
const baseUrl = httpUrl.max(2000).description('The address of the provider’s API. A change of its origin needs the key again.');
const options = Joi.object()
	.unknown()
	.custom(small, 'at most 16,384 characters')
	.description('Further fields of the provider’s plugin; `GET /plugins` describes them.');

const given = { configuration, prices: prices.allow(null), budget: budget.allow(null), outbound: outbound.allow(null) };

/** Refuses objects of free form that are large. */
function small(value: object, helpers: Joi.CustomHelpers): object | Joi.ErrorReport {
	return JSON.stringify(value).length <= 16_384 ? value : helpers.message({ custom: '{{#label}} may have 16384 characters as JSON' });
}

export const CREATE = body({
	name: displayName.required(),
	provider: Joi.string()
		.max(64)
		.required()
		.description('The kind of provider, a plugin: `openai`, `anthropic`, `custom`, `local` or another one of `GET /plugins`.'),
	...{ apiKey, model, baseUrl, options, ...given },
}).example({ name: 'Our models', provider: 'openai', apiKey: 'sk-example', model: 'gpt-5-mini', configuration: { maxTokens: 1000 } });

export const UPDATE = body({
	...{ name: displayName, apiKey, model: model.allow(null), baseUrl, options, ...given },
	status: Joi.string().valid('active', 'inactive').description('`inactive`: its calls are refused.'),
})
	.min(1)
	.example({ model: 'gpt-5', budget: { perCall: 0.5, perMonth: 100 } });

export const SESSION_ID = Joi.string()
	.pattern(/^[A-Za-z0-9._:-]{1,128}$/, 'a name of letters, digits and ._:-, at most 128')
	.description('A conversation of your own naming, whose former messages the model is sent.');
