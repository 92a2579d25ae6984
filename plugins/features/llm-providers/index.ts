// LLM providers (specification 4.6): an organization's connections to model providers, tested, chatted with, and counted.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type Core,
	clientSignal,
	count,
	expectedVersion,
	type Feature,
	filterOf,
	GatewayError,
	type LlmProviderRow,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	removal,
	shape,
	showVersion,
	storeOf,
	type TextFilter,
	words,
} from '../../../core/features.ts';
import { chatRoutes } from './chat.ts';
import { addProvider, changeProvider } from './connections.ts';
import { CREATE, UPDATE } from './fields.ts';
import { findProvider } from './find.ts';
import { originOf } from './origin.ts';
import { LLM_PROVIDER, presentProvider } from './present.ts';
import { sessionRoutes } from './session-routes.ts';
import { removeSessions } from './sessions.ts';

export default {
	kind: 'feature',
	api: 1,
	name: 'llm_providers',
	summary: 'LLM providers: connections to models, with their prices, budgets and sessions.',
	config: Joi.object({}),
	segments: ['llm-providers'],
	register(server: Server, _config, core) {
		server.route([
			...[listProviders(core), createProvider(core), getProvider(core), updateProvider(core), deleteProvider(core)],
			...[testProvider(core), listModels(core), ...chatRoutes(core), ...sessionRoutes(core)],
		]);
	},
} satisfies Feature;

const CALL_ERRORS = ['conflict', 'rate_limited', 'upstream_failed', 'upstream_timeout', 'egress_refused'] as const;

const listProviders = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/llm-providers',
		id: 'listLlmProviders',
		summary: 'Lists the LLM providers.',
		need: 'apis:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { q: words } }),
		answer: page('llmProviders', LLM_PROVIDER),
		handler: async (request) => {
			const { id: organizationId } = organizationOf(request);
			const { llmProviders: store } = core.store;
			const { items, nextCursor } = await store.list(organizationId, pageOf(request), filterOf<TextFilter>(request));
			const used = await store.usage(
				organizationId,
				items.map(({ id }) => id),
			);
			return { llmProviders: items.map((row) => presentProvider(row, used.get(row.id), core)), nextCursor };
		},
	});

const createProvider = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/llm-providers',
		id: 'createLlmProvider',
		summary: 'Adds an LLM provider.',
		need: 'apis:write',
		body: CREATE,
		answer: LLM_PROVIDER,
		status: 201,
		errors: ['conflict', 'egress_refused', 'upstream_timeout'],
		idempotent: true,
		versioned: true,
		handler: async (request) => show(request, await addProvider(request, core), core),
	});

const getProvider = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/llm-providers/{id}',
		id: 'getLlmProvider',
		summary: 'Shows an LLM provider, and what its calls used and cost.',
		need: 'apis:read',
		answer: LLM_PROVIDER,
		versioned: true,
		handler: async (request) => show(request, await findProvider(request, core), core),
	});

const updateProvider = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/llm-providers/{id}',
		id: 'updateLlmProvider',
		summary: 'Changes the given fields of an LLM provider.',
		description: 'A `baseUrl` of another origin needs the `apiKey` again. All replicas use the change within a second.',
		need: 'apis:write',
		body: UPDATE,
		answer: LLM_PROVIDER,
		errors: ['egress_refused', 'upstream_timeout'],
		versioned: true,
		handler: async (request) => show(request, await changeProvider(request, await findProvider(request, core), core), core),
	});

const deleteProvider = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/llm-providers/{id}',
		id: 'deleteLlmProvider',
		summary: 'Removes an LLM provider with its key, its usage and its sessions.',
		need: 'apis:write',
		answer: removal('months', 'sessions'),
		versioned: true,
		handler: async (request) => {
			const { id, organizationId } = await findProvider(request, core);
			const removed = await storeOf(request, core).llmProviders.remove(organizationId, id, expectedVersion(request));
			if (!removed) throw notFound('LLM provider');
			return { id, removed: { ...removed, sessions: await removeSessions(core, organizationId, id) } };
		},
	});

const testProvider = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/llm-providers/{id}/test',
		id: 'testLlmProvider',
		summary: 'Tests the connection by asking the default model for a word.',
		need: 'tools:execute',
		answer: shape({ status: Joi.string().valid('ok'), model: Joi.string(), responseTime: count.description('Milliseconds.') }),
		errors: CALL_ERRORS,
		slow: true,
		handler: async (request) => {
			const { id, organizationId } = await findProvider(request, core);
			const startedMs = performance.now();
			const messages = [{ role: 'user' as const, content: 'Answer with the word OK.' }];
			const models = core.models.of(organizationId, clientSignal(request), {}, originOf(request, core));
			const { model } = await models.ask({ providerId: id, messages, maxTokens: 64 });
			return { status: 'ok', model, responseTime: Math.round(performance.now() - startedMs) };
		},
	});

const listModels = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/llm-providers/{id}/models',
		id: 'listModelsOfLlmProvider',
		summary: 'Lists the models that the connection can reach, as the provider tells them.',
		need: 'tools:execute',
		answer: shape({ models: Joi.array().items(shape({ id: Joi.string() })) }),
		errors: ['not_implemented', ...CALL_ERRORS],
		slow: true,
		handler: async (request) => {
			const models = await core.models.models(await findProvider(request, core), clientSignal(request));
			if (!models) throw new GatewayError('not_implemented', 'This kind of provider does not list its models.');
			return { models: models.map(({ id }) => ({ id })) };
		},
	});

async function show(request: Request, row: LlmProviderRow, core: Core) {
	showVersion(request, row.version);
	const used = await core.store.llmProviders.usage(row.organizationId, [row.id]);
	return presentProvider(row, used.get(row.id), core);
}
