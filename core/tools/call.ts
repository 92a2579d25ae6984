// The context that plugins receive, and one call of a gateway or of the management API.

import type { Admission } from '../contract/admission.ts';
import type { Answer, Asker, Question, Seals } from '../contract/asking.ts';
import type {
	Call,
	CheckedAddress,
	Context,
	Identity,
	KeyValue,
	OutboundRequest,
	OutboundResponse,
	ProgressListener,
	SocketProtocol,
} from '../contract/context.ts';
import { GatewayError, PluginFault } from '../contract/errors.ts';
import type { Deliveries, Jobs, NewDelivery } from '../contract/jobs.ts';
import type {
	Api,
	Caller,
	Gateway,
	Json,
	Log,
	OrganizationSettings,
	Records,
	Scope,
	Tool,
	ToolRef,
	ToolResult,
} from '../contract/nouns.ts';
import type { StreamRequest, StreamResponse } from '../contract/streamed-answers.ts';
import { deepFreeze } from '../kit/json.ts';
import { checkedValues } from '../shared/check-record.ts';
import { PluginRecords } from '../shared/plugin-records.ts';
import type { RecordStore } from '../store/store.ts';
import { stream } from '../upstreams/streaming.ts';
import { askUser } from './asking.ts';
import type { CallParts, Services } from './call-parts.ts';
import type { JobDesk } from './job-desk.ts';
import { type LogOrigin, pluginLog } from './plugin-log.ts';
import { sealsOf } from './seals.ts';

/** Time for which an organization's settings are cached: every change is seen within a second. */
const SETTINGS_MS = 1000;

const NO_TOOLS: readonly Tool[] = Object.freeze([]);
const NO_ADMISSION: readonly Admission[] = Object.freeze([]);

/** The identity of a call without a gateway, at which no one is known. */
export const NO_IDENTITY: Identity = Object.freeze<Identity>({
	credential: async () => null,
	token: async () => {
		throw new GatewayError('unauthorized', 'There is no gateway that could take a token.');
	},
	password: async () => null,
	member: async () => null,
	again: async () => null,
	visitor: async () => null,
	logIn: async () => null,
	forgotPassword: async () => undefined,
});

export class PluginCall implements Call {
	readonly #services: Services;
	readonly #parts: CallParts;
	#log: Log | null = null;

	constructor(services: Services, parts: CallParts) {
		this.#services = services;
		this.#parts = parts;
	}

	get log(): Log {
		this.#log ??= pluginLog(this.#services.log, originOf(this.#parts));
		return this.#log;
	}
	get operator(): unknown {
		return this.#services.operatorOf(this.#parts.plugin);
	}
	get gateway(): Readonly<Gateway> | null {
		return this.#parts.gateway;
	}
	get caller(): Readonly<Caller> | null {
		return this.#parts.caller;
	}
	get tool(): Readonly<Tool> | null {
		return this.#parts.entry?.tool ?? null;
	}
	get api(): Readonly<Api> | null {
		return this.#parts.entry?.api ?? null;
	}
	get signal(): AbortSignal {
		return this.#parts.signal;
	}
	get identity(): Identity {
		return this.#parts.identity;
	}
	get seals(): Seals {
		const { plugin, organizationId, gateway } = this.#parts;
		return sealsOf(this.#services.seals, { plugin, organizationId, at: gateway?.id ?? organizationId });
	}
	get kv(): KeyValue {
		return checkedValues(this.#parts.plugin, this.#services.shared.keyValue(`kv:${this.#private()}:`));
	}
	get records(): Records {
		const { plugin, organizationId, gateway, records: store = this.#services.store.records, hidesSealed = false } = this.#parts;
		return new PluginRecords(
			{ store, as: (by) => this.#recordsOf(by), services: this.#services.records, hidesSealed },
			{ organizationId, gatewayId: gateway?.id ?? null, plugin },
		);
	}

	request(options: OutboundRequest): Promise<OutboundResponse> {
		const { signal, organizationId, outbound = this.#services.egress.of(organizationId) } = this.#parts;
		return outbound.request({ signal, ...options });
	}

	stream(options: StreamRequest): Promise<StreamResponse> {
		const { organizationId, outbound } = this.#parts;
		const signal = options.signal ? AbortSignal.any([this.signal, options.signal]) : this.signal;
		const { egress, log } = this.#services;
		const parts = { egress, log, organizationId, signal, breakers: null, lane: null };
		return outbound ? outbound.stream({ ...options, signal }) : stream(parts, { ...options, signal });
	}

	fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
		const { signal, organizationId, outbound = this.#services.egress.of(organizationId) } = this.#parts;
		return outbound.fetch(url, { signal, ...init });
	}

	connect(host: string, port: number, options?: { protocol?: SocketProtocol }): Promise<CheckedAddress> {
		const { outbound = this.#services.egress } = this.#parts;
		return outbound.connect(host, port, options);
	}

	checkUrl(url: string, at?: string): Promise<void> {
		return this.#services.egress.check(url, at);
	}

	checkAddress(host: string, port: number, options?: { protocol?: SocketProtocol; at?: string }): Promise<void> {
		return this.#services.egress.checkAddress(host, port, options);
	}

	get jobs(): Jobs {
		return this.#desk().jobs(this.#parts);
	}

	async deliver(delivery: NewDelivery): Promise<{ id: string }> {
		return this.#desk().deliver(this.#parts, delivery);
	}

	get deliveries(): Deliveries {
		return this.#desk().deliveries(this.#parts);
	}

	memo<T>(key: string, ttlMs: number, compute: () => Promise<T>): Promise<T> {
		return this.#services.memo.get(`${this.#private()}:${key}`, ttlMs, compute);
	}

	settings(): Promise<OrganizationSettings> {
		const { organizationId } = this.#parts;
		const { memo, store } = this.#services;
		return memo.get(`settings:${organizationId}`, SETTINGS_MS, async () => deepFreeze(await store.organizations.settings(organizationId)));
	}

	account(): Promise<string> {
		return this.#services.accountOf(this.#parts.organizationId);
	}

	async tools(): Promise<readonly Readonly<Tool>[]> {
		const { caller, shelf } = this.#parts;
		if (!caller?.scopes.includes('tools:read')) throw scopeMissing('tools:read', this.#parts);
		return shelf?.list() ?? NO_TOOLS;
	}

	async published(): Promise<readonly Readonly<Tool>[]> {
		const { plugin, gateway, lists, shelf } = this.#parts;
		if (!lists || !shelf) throw new PluginFault(plugin, 'published() was called outside of a route that declares lists: true.');
		// Over several gateways, each caller sees their own tools, and nothing more is published.
		return gateway ? shelf.list() : this.tools();
	}

	admission(): readonly Admission[] {
		return this.#parts.admission?.() ?? NO_ADMISSION;
	}

	async invoke(ref: ToolRef, args: Json): Promise<ToolResult> {
		const { caller, shelf } = this.#parts;
		if (!caller?.scopes.includes('tools:execute')) throw scopeMissing('tools:execute', this.#parts);
		const entry = shelf?.find(ref);
		if (!entry) throw new GatewayError('tool_not_found', `There is no tool "${('name' in ref ? ref.name : ref.id).slice(0, 128)}" here.`);
		if (entry.limit) await this.#parts.countTool?.(entry.limit);
		const { logs: _printed, ...shown } = await this.#services.invoker.run(entry, args, { ...this.#parts, ...entry.at, caller });
		// A tool that was interrupted has not failed: the attempt comes again.
		if (this.#parts.ofJob && shown.isError) this.#parts.signal.throwIfAborted();
		return shown;
	}

	async sign(request: OutboundRequest): Promise<OutboundRequest> {
		return this.#parts.outbound?.sign(request) ?? request;
	}

	async renew(refused: OutboundRequest): Promise<OutboundRequest | null> {
		return this.#parts.outbound?.renew(refused) ?? null;
	}

	async exchange<T>(url: string, work: (failed: () => void) => Promise<T>): Promise<T> {
		const { outbound } = this.#parts;
		return outbound ? outbound.exchange(url, work) : work(() => undefined);
	}

	progress(done: number, total?: number, message?: string): void {
		this.#parts.listener?.(done, total, message);
	}

	ask(question: Question): Promise<Answer> {
		const { waitingQuestions: waiting, accountOf } = this.#services;
		return askUser(question, this.#parts, { waiting, accountOf });
	}

	with(options: { progress?: ProgressListener; signal?: AbortSignal; detached?: boolean; ask?: Asker }): Call {
		const own = options.detached ? this.#services.inFlight.over : this.#parts.signal;
		const signal = options.signal ? AbortSignal.any([own, options.signal]) : own;
		const { progress: listener = this.#parts.listener, ask: asker = this.#parts.asker ?? null } = options;
		return new PluginCall(this.#services, { ...this.#parts, signal, listener, asker });
	}

	/** Writes in the name of a user, with the client data of the request. */
	#recordsOf(by: { userId: string; email: string }): RecordStore {
		const { incoming, records } = this.#parts;
		if (records || !incoming) return records ?? this.#services.store.records;
		const { address, headers, id } = incoming;
		const client = { address, userAgent: headers['user-agent'] ?? null, requestId: id };
		return this.#services.store.as({ ...by, accessKeyId: null, ...client }).records;
	}

	/** @throws not_implemented in a dry run, which has no effects */
	#desk(): JobDesk {
		if (this.#parts.isDry) throw new GatewayError('not_implemented', 'This tool begins jobs, which a dry run cannot show.');
		return this.#services.jobs;
	}

	/** The prefix of data private to the plugin and the gateway (or the organization if there is no gateway). */
	#private(): string {
		return `${this.#parts.plugin}:${this.#parts.gateway?.id ?? this.#parts.organizationId}`;
	}
}

const originOf = ({ plugin, organizationId, gateway, incoming, entry }: CallParts): LogOrigin => ({
	plugin,
	organizationId,
	...(gateway && { gateway: gateway.organizationSlug + gateway.endpoint }),
	...(entry && { tool: entry.tool.id }),
	...(incoming && { requestId: incoming.id }),
});

/** Builds the error with the challenge of the method that authenticated the caller, which knows where to get another scope. */
function scopeMissing(scope: Scope, { caller, challenge: challengeOf }: CallParts): GatewayError {
	const challenge = caller && challengeOf?.(caller, scope);
	return new GatewayError('insufficient_scope', `The credential lacks the scope ${scope}.`, {
		headers: challenge ? { 'www-authenticate': challenge } : {},
	});
}

/** The scope of a plugin's context in a route of the management API, outside its gateways' requests. */
export interface ManagementScope {
	/** `kind:name`. */
	plugin: string;
	gateway: Gateway;
	/** Writes in the name of the user who made the request. */
	records: RecordStore;
	signal: AbortSignal;
}

export const managementContext = (services: Services, scope: ManagementScope): Context =>
	new PluginCall(services, {
		...scope,
		organizationId: scope.gateway.organizationId,
		hidesSealed: true,
		caller: null,
		shelf: null,
		identity: NO_IDENTITY,
		entry: null,
		listener: null,
	});
