// Calls of an organization's model connections: the row and its plugin, defaults, budget, lane, repetitions, and what the call cost.

import { asGatewayError, GatewayError, notFound } from '../contract/errors.ts';
import type { ModelRequest, Models } from '../contract/models.ts';
import type { JsonObject, Log } from '../contract/nouns.ts';
import type { ChatChunk, ChatModel, ChatRequest, LlmProvider, ProviderContext, Usage } from '../contract/providers.ts';
import type { Egress } from '../egress/egress.ts';
import type { LaneApi } from '../lanes/lane.ts';
import { LaneRun } from '../lanes/lane-run.ts';
import type { Lanes } from '../lanes/lanes.ts';
import { answerUnder } from '../process/hooks.ts';
import type { NamedSecretLocation, Registry } from '../registry/registry.ts';
import { loadConfig } from '../registry/stored-configs.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import { type Memo, shareOf } from '../shared/memo.ts';
import type { Recorder } from '../store/recorder.ts';
import type { LlmProviderRow, Store } from '../store/store.ts';
import { spannedStream } from '../telemetry/spans.ts';
import { chatDraft, tellUsage } from '../telemetry/work-spans.ts';
import type { Breakers } from '../upstreams/breakers.ts';
import type { Signer } from '../upstreams/credentials.ts';
import { OutboundRun } from '../upstreams/outbound.ts';
import { bounded, whole } from './answers.ts';
import { isBudgeted, withinBudget } from './budgets.ts';
import { CallTime, LONGEST_MS } from './call-time.ts';
import { checkChunk, checkModels } from './check-provider.ts';
import { chunksOf } from './chunks.ts';
import { costOf } from './costs.ts';
import { limited, mostOf } from './estimate.ts';
import { type CallOrigin, lineOf, refusedLine } from './logged-calls.ts';
import { repeated } from './repeating.ts';
import type { Spending } from './spending.ts';

export interface ConnectionParts {
	store: Pick<Store, 'llmProviders'>;
	registry: Registry;
	secrets: Secrets;
	egress: Egress;
	/** The guard of connections that may be at private addresses. */
	privateEgress: Egress;
	breakers: Breakers;
	lanes: Lanes;
	signer: Signer;
	memo: Memo;
	log: Log;
	recorder: Pick<Recorder, 'request'>;
}

/** A change of a connection is seen within a second. */
const FRESH_MS = 1000;

/** The signal of a call, and what it counts for. */
interface Calling {
	outer: AbortSignal;
	spending: Spending;
	origin: CallOrigin;
}

interface Ready {
	row: LlmProviderRow;
	provider: LlmProvider;
	config: JsonObject;
}

/** Returns the place of a connection's secrets. */
export const llmProviderLocation = ({
	organizationId,
	id,
	name,
}: Pick<LlmProviderRow, 'organizationId' | 'id' | 'name'>): NamedSecretLocation => ({
	...{ organizationId, table: 'llm_providers', row: id },
	of: `the LLM provider "${name}"`,
});

export class ModelConnections {
	readonly #parts: ConnectionParts;

	constructor(parts: ConnectionParts) {
		this.#parts = parts;
	}

	/** Returns the guard that calls of this plugin's connections pass. */
	egressOf({ privateUrls }: Pick<LlmProvider, 'privateUrls'>): Egress {
		return privateUrls ? this.#parts.privateEgress : this.#parts.egress;
	}

	/**
	 * Returns the connections of an organization, as plugins get them.
	 * @param spending what their calls count for besides
	 * @param origin where they come from, for the request log
	 */
	of(organizationId: string, signal: AbortSignal, spending: Spending = {}, origin: CallOrigin = {}): Models {
		const chat = (request: ModelRequest, own?: AbortSignal): AsyncIterable<ChatChunk> =>
			this.#chat(organizationId, request, { spending, origin, outer: own ? AbortSignal.any([signal, own]) : signal });
		return { chat, ask: (request, own) => whole(chat(request, own)) };
	}

	/** Returns what a call of so many tokens would cost, in millionths of a US dollar; null when the price is unknown. */
	async price(
		row: LlmProviderRow,
		{ model, ...tokens }: { model: string; inputTokens: number; outputTokens: number },
	): Promise<number | null> {
		const { provider, config } = this.#ready(row);
		return costOf(row, provider, { model, asked: model, config, usage: { ...tokens, cachedTokens: 0, costMicroUsd: null } });
	}

	/** Lists the models of a connection; null when its provider has no list. @throws what a call throws */
	async models(row: LlmProviderRow, signal: AbortSignal): Promise<ChatModel[] | null> {
		const ready = this.#ready(row);
		const { provider, config } = ready;
		if (!provider.models) return null;
		const plugin = `provider:${provider.name}`;
		const time = new CallTime(signal);
		const { context, end } = this.#open(ready, time);
		try {
			const answer = await answerUnder({ plugin, hook: 'models' }, time.signal, () => provider.models?.(config, context));
			return checkModels(plugin, answer);
		} finally {
			time.end();
			end();
		}
	}

	async *#chat(organizationId: string, { providerId, ...request }: ModelRequest, calling: Calling): AsyncGenerator<ChatChunk> {
		const { memo, store } = this.#parts;
		const ready = await memo.get(organizationId, `llm-provider:${providerId}`, FRESH_MS, async () => {
			const row = await store.llmProviders.get(organizationId, providerId);
			if (!row) throw notFound('LLM provider');
			return this.#ready(row);
		});
		if (ready.row.status !== 'active') throw new GatewayError('conflict', `The LLM provider "${ready.row.name}" is inactive.`);
		const asked = completed(ready.row, request);
		const traced = { provider: ready.row.provider, model: asked.model };
		yield* bounded(
			spannedStream(
				() => chatDraft(traced),
				() => this.#counted(ready, asked, calling),
			),
		);
	}

	async *#counted(ready: Ready, asked: ChatRequest, { outer, spending, origin }: Calling): AsyncGenerator<ChatChunk> {
		const { row, provider, config } = ready;
		const plugin = `provider:${provider.name}`;
		const { budgets = [] } = spending;
		const isLimited = isBudgeted(row, budgets);
		const request = isLimited ? limited(asked) : asked;
		const { llmProviders: store } = this.#parts.store;
		const priced = (usage: Usage | null, model: string): Promise<number | null> =>
			costOf(row, provider, { model, asked: request.model, config, usage });
		const started = performance.now();
		let outcome = 'cancelled';
		const most = isLimited ? await priced(mostOf(request), request.model) : null;
		const reservation = await withinBudget(store, row, budgets, most).catch((thrown) => {
			this.#parts.recorder.request(refusedLine(row, { origin, model: request.model, thrown, durationMs: performance.now() - started }));
			throw thrown;
		});
		const time = new CallTime(outer);
		let [hasBegun, usage] = [false, null as Usage | null];
		const { context, end } = this.#open(ready, time, () => {
			hasBegun = true;
		});
		try {
			const attempt = (): AsyncIterable<ChatChunk> => chunksOf(plugin, () => provider.chat(request, config, context), context);
			// One attempt was reserved of the budgets: one that the provider began to answer may have been charged, and another is not made.
			const mayRepeat = (): boolean => most === null || !hasBegun;
			for await (const chunk of repeated(attempt, { ...time, mayRepeat })) {
				hasBegun = true;
				time.heard();
				checkChunk(plugin, chunk);
				if (chunk.type === 'end') usage = chunk.usage ? { ...chunk.usage, costMicroUsd: await priced(chunk.usage, chunk.model) } : null;
				if (chunk.type === 'end') outcome = 'success';
				yield chunk.type === 'end' ? { ...chunk, usage } : chunk;
			}
		} catch (thrown) {
			outcome = outer.aborted ? 'cancelled' : (asGatewayError(thrown)?.code ?? 'internal');
			throw thrown;
		} finally {
			time.end();
			end();
			// A call that broke off in its answer was charged: the most that it may have cost is counted for the budget.
			const charged = usage ?? (hasBegun && most !== null ? { ...mostOf(request), costMicroUsd: most } : null);
			if (hasBegun) spending.spent?.(charged);
			const durationMs = performance.now() - started;
			tellUsage(usage, request.model);
			this.#parts.recorder.request(lineOf(row, { origin, model: request.model, usage: charged, outcome, durationMs }));
			await this.#settle(row, charged, reservation);
		}
	}

	async #settle(row: LlmProviderRow, usage: Usage | null, reservation: string | null): Promise<void> {
		try {
			await this.#parts.store.llmProviders.settle(row, usage, reservation);
		} catch (error) {
			this.#parts.log.error(
				{ llmProvider: row.id, organizationId: row.organizationId, error: String(error) },
				'a model’s call was not counted',
			);
		}
	}

	/** @throws not_implemented when the plugin is not loaded, UnfitConfig, secret_unreadable */
	#ready(row: LlmProviderRow): Ready {
		const { registry, secrets } = this.#parts;
		const { provider: name, connection, configVersion } = row;
		const provider = registry.get('provider', name);
		if (!provider) throw new GatewayError('not_implemented', `The plugin of the LLM provider "${row.name}" is not loaded.`);
		const stored = { kind: 'provider' as const, name, config: connection, version: configVersion };
		return { row, provider, config: loadConfig(registry, stored, secrets, llmProviderLocation(row)) };
	}

	/**
	 * Returns the context of one call, and what ends its connections and its place in the lane.
	 * @param answered called when the provider begins to answer what it did not refuse, before its first piece
	 */
	#open({ row, provider }: Ready, time: CallTime, answered?: () => void): { context: ProviderContext; end(): void } {
		const { signal } = time;
		const { breakers, lanes, log: parent, memo, registry, signer } = this.#parts;
		const { organizationId, outbound: limits, id, name, version } = row;
		const plugin = `provider:${provider.name}`;
		const log = boundLog(parent, { plugin, organizationId });
		const api: LaneApi | null = limits && { id, organizationId, name, version, outbound: limits };
		const lane = api && new LaneRun({ lanes, api, signal, deadlineMs: LONGEST_MS });
		const egress = this.egressOf(provider);
		const run = new OutboundRun({ egress, breakers, log, organizationId, lane, signal, signer, api: null, credentials: [] });
		const context: ProviderContext = {
			log,
			request: (options) => run.request({ signal, ...options }),
			stream: async (options) => {
				const own = options.signal ? AbortSignal.any([signal, options.signal]) : signal;
				const answer = await run.stream({ ...options, signal: own });
				if (answer.status >= 300) return answer;
				answered?.();
				time.heard();
				return { ...answer, body: time.hearing(answer.body) };
			},
			fetch: (url, init = {}) => run.fetch(url, { signal, ...init }),
			connect: (host, port, options) => run.connect(host, port, options),
			memo: (key, ttlMs, compute, options) =>
				memo.get(organizationId, `${plugin}:${organizationId}:${key}`, ttlMs, compute, shareOf(plugin, key, options?.most)),
			operator: registry.operator(plugin),
			signal,
		};
		return { context, end: () => run.end() };
	}
}

function boundLog(log: Log, origin: object): Log {
	const at =
		(level: keyof Log): Log[keyof Log] =>
		(fields, message) =>
			typeof fields === 'object' ? log[level]({ ...fields, ...origin }, message) : log[level]({ ...origin }, message ?? String(fields));
	return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Completes a request by the defaults of its connection. @throws validation_failed without a model */
function completed(
	{ configuration, model: own, name }: LlmProviderRow,
	{ model = own ?? undefined, ...request }: Omit<ModelRequest, 'providerId'>,
): ChatRequest {
	if (model === undefined) {
		const message = `model is required: the LLM provider "${name}" has no default model.`;
		throw new GatewayError('validation_failed', message, { details: [{ path: '/model', message }] });
	}
	// The configuration has passed the schema of a connection's defaults.
	return { ...(configuration as Partial<ChatRequest>), ...request, model };
}
