// The context that plugins receive, and one call of a gateway or of the management API.

import type { Admission } from '../contract/admission.ts';
import type { AgentRuns } from '../contract/agents.ts';
import type { Answer, Question, Seals } from '../contract/asking.ts';
import type { CallOptions } from '../contract/call-options.ts';
import type { Call, Identity, KeyValue } from '../contract/context.ts';
import { type ErrorDetail, GatewayError, PluginFault } from '../contract/errors.ts';
import type { NamedWork, ServedVersions } from '../contract/following.ts';
import type { Deliveries, Jobs, NewDelivery } from '../contract/jobs.ts';
import type { Models } from '../contract/models.ts';
import type {
	Api,
	Caller,
	Gateway,
	Json,
	JsonSchema,
	Log,
	OrganizationSettings,
	Records,
	Tool,
	ToolRef,
	ToolResult,
} from '../contract/nouns.ts';
import type { OrganizationChoice } from '../contract/organizations.ts';
import type {
	CheckedAddress,
	OutboundRequest,
	OutboundResponse,
	SocketProtocol,
	StreamRequest,
	StreamResponse,
} from '../contract/outbound.ts';
import type { KeptPage, RunResult } from '../contract/results.ts';
import type { SandboxTask } from '../contract/sandbox.ts';
import type { Skill } from '../contract/skills.ts';
import { checkedValues } from '../shared/check-record.ts';
import { shareOf } from '../shared/memo.ts';
import { stream } from '../upstreams/streaming.ts';
import { askUser } from './asking.ts';
import type { CallParts, Services } from './call-parts.ts';
import { recordsOf } from './call-records.ts';
import type { JobDesk, LiveCall } from './job-desk.ts';
import { keeping, keptBy, keptPage } from './kept-results.ts';
import { clientInfoOf, modelCalls } from './log/logged-runs.ts';
import { settingsOf } from './organization-settings.ts';
import { originOf, pluginLog } from './plugin-log.ts';
import { runInSandbox } from './sandboxes.ts';
import { scopeMissing } from './scope-missing.ts';
import { sealsOf } from './seals.ts';

const NONE: readonly never[] = Object.freeze([]);

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
	get organizations(): OrganizationChoice | null {
		return this.#parts.organizations ?? null;
	}
	get seals(): Seals {
		const { plugin, organizationId, gateway } = this.#parts;
		return sealsOf(this.#services.seals, { plugin, organizationId, at: gateway?.id ?? organizationId });
	}
	get kv(): KeyValue {
		return checkedValues(this.#parts.plugin, this.#services.shared.keyValue(`kv:${this.#private()}:`));
	}
	get records(): Records {
		return recordsOf(this.#services, this.#parts, this.#organizationId());
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
		return this.#desk().jobs({ ...this.#parts, goOn: (signal) => this.#goOn(signal) });
	}

	async deliver(delivery: NewDelivery): Promise<{ id: string }> {
		return this.#desk().deliver(this.#parts, delivery);
	}

	get deliveries(): Deliveries {
		return this.#desk().deliveries(this.#parts);
	}

	memo<T>(key: string, ttlMs: number, compute: () => Promise<T>, { most }: { most?: number | undefined } = {}): Promise<T> {
		const { organizationId, plugin } = this.#parts;
		return this.#services.memo.get(organizationId, `${this.#private()}:${key}`, ttlMs, compute, shareOf(plugin, key, most));
	}

	settings(): Promise<OrganizationSettings> {
		return settingsOf(this.#services, this.#organizationId());
	}

	account(): Promise<string> {
		return this.#services.accountOf(this.#organizationId());
	}

	async tools(): Promise<readonly Readonly<Tool>[]> {
		const { caller, shelf } = this.#parts;
		if (!caller?.scopes.includes('tools:read')) throw scopeMissing('tools:read', this.#parts);
		return shelf?.list() ?? NONE;
	}

	async published(): Promise<readonly Readonly<Tool>[]> {
		const { plugin, gateway, lists, shelf } = this.#parts;
		if (!lists || !shelf) throw new PluginFault(plugin, 'published() was called outside of a route that declares lists: true.');
		// Over several gateways, each caller sees their own tools, and nothing more is published.
		return gateway ? shelf.list() : this.tools();
	}

	async skills(): Promise<readonly Readonly<Skill>[]> {
		const { plugin, caller, lists, shelf } = this.#parts;
		if (!caller && shelf && !lists)
			throw new PluginFault(plugin, 'skills() was called on a public route that does not declare lists: true.');
		if (caller && !caller.scopes.includes('tools:read')) throw scopeMissing('tools:read', this.#parts);
		return shelf?.skills() ?? NONE;
	}

	async skillFile(skillId: string, path: string): Promise<Buffer | null> {
		const skill = (await this.skills()).find(({ id }) => id === skillId);
		return skill ? this.#services.skillFiles.read(skill, path) : null;
	}

	admission(): readonly Admission[] {
		return this.#parts.admission?.() ?? NONE;
	}

	async invoke(ref: ToolRef, args: Json): Promise<RunResult> {
		const { caller, shelf } = this.#parts;
		if (!caller?.scopes.includes('tools:execute')) throw scopeMissing('tools:execute', this.#parts);
		const entry = shelf?.find(ref);
		if (!entry) throw new GatewayError('tool_not_found', `There is no tool "${('name' in ref ? ref.name : ref.id).slice(0, 128)}" here.`);
		if (this.#parts.isCounted) await this.#parts.countCall?.();
		if (entry.limit) await this.#parts.countTool?.(entry.limit);
		const { logs: _printed, use: _use, ...shown } = await this.#services.invoker.run(entry, args, { ...this.#parts, ...entry.at, caller });
		// A tool that was interrupted has not failed: the attempt comes again.
		if (this.#parts.ofJob && shown.isError) this.#parts.signal.throwIfAborted();
		return shown;
	}

	get models(): Models {
		if (this.#parts.isDry) throw new GatewayError('not_implemented', 'This tool asks a model, which a dry run cannot show.');
		return this.#services.models.of(this.#organizationId(), ...modelCalls(this.#parts));
	}

	faults(schema: JsonSchema, data: Json): Promise<ErrorDetail[]> {
		return this.#services.outputChecks.faultsByContent(this.#organizationId(), schema, data, this.#parts.signal);
	}

	get agents(): AgentRuns {
		this.#organizationId();
		if (this.#parts.isDry) throw new GatewayError('not_implemented', 'This tool runs an agent, which a dry run cannot show.');
		return this.#services.agents.of(this.#parts);
	}

	get named(): NamedWork {
		return this.#services.named.of(this.#parts);
	}

	served(signal: AbortSignal): AsyncIterable<ServedVersions> {
		return this.#services.followServed(this.#parts, signal);
	}

	sign(request: OutboundRequest): Promise<OutboundRequest> {
		return this.#parts.outbound?.sign(request) ?? Promise.resolve(request);
	}

	async renew(refused: OutboundRequest): Promise<OutboundRequest | null> {
		return this.#parts.outbound?.renew(refused) ?? null;
	}

	async exchange<T>(url: string, work: (failed: () => void, trace: Readonly<Record<string, string>>) => Promise<T>): Promise<T> {
		const { outbound } = this.#parts;
		return outbound ? outbound.exchange(url, work) : work(() => undefined, {});
	}

	async sandbox(task: SandboxTask): Promise<ToolResult> {
		const [services, parts] = [this.#services, this.#parts];
		if (parts.isDry) throw new GatewayError('not_implemented', 'This tool runs code, which a dry run cannot show.');
		const callOf = (plugin: string): Call => new PluginCall(services, { ...parts, plugin, shelf: null, entry: null });
		return runInSandbox(task, { lender: services.invoker.lender(task.language), callOf, organizationId: parts.organizationId });
	}

	introduce({ name, version }: { name: string; version?: string }): void {
		const { incoming } = this.#parts;
		if (incoming && name !== '') incoming.clientInfo = clientInfoOf(name, version);
	}

	progress(done: number, total?: number, message?: string): void {
		this.#parts.listener?.(done, total, message);
	}

	ask(question: Question): Promise<Answer> {
		const { waitingQuestions: waiting, accountOf } = this.#services;
		return askUser(question, this.#parts, { waiting, accountOf });
	}

	async kept(id: string, page: number): Promise<KeptPage | null> {
		const { caller } = this.#parts;
		if (!caller?.scopes.includes('tools:execute')) throw scopeMissing('tools:execute', this.#parts);
		return keptPage(id, page, keptBy(this.#services, this.#parts, caller));
	}

	with(options: CallOptions): Call {
		const own = options.detached ? this.#services.inFlight.over : this.#parts.signal;
		const signal = options.signal ? AbortSignal.any([own, options.signal]) : own;
		const { progress: listener = this.#parts.listener, ask, keep: link } = options;
		const asking = ask && { asker: ask, askedBy: this.#parts.plugin };
		const isCounted = options.counted ?? this.#parts.isCounted ?? false;
		const kept = link && { keep: keeping(this.#services, this.#parts, link) };
		const { strictOutput = this.#parts.strictOutput ?? false } = options;
		return new PluginCall(this.#services, { ...this.#parts, signal, listener, isCounted, strictOutput, ...asking, ...kept });
	}

	/** @throws PluginFault before the request has named an organization */
	#organizationId(): string {
		const { organizationId, plugin } = this.#parts;
		if (organizationId === '') throw new PluginFault(plugin, 'used data of an organization before one was named: use `organizations`.');
		return organizationId;
	}

	#goOn(signal: AbortSignal): LiveCall | null {
		const { config } = this.#parts;
		return config ? { call: new PluginCall(this.#services, { ...this.#parts, signal, listener: null, ofJob: true }), config } : null;
	}

	/** @throws not_implemented in a dry run, which has no effects */
	#desk(): JobDesk {
		this.#organizationId();
		if (this.#parts.isDry) throw new GatewayError('not_implemented', 'This tool begins jobs, which a dry run cannot show.');
		return this.#services.jobs;
	}

	/** The prefix of data private to the plugin and the gateway (or the organization if there is no gateway). */
	#private(): string {
		return `${this.#parts.plugin}:${this.#parts.gateway?.id ?? this.#parts.organizationId}`;
	}
}
