// A call for the tests of a plugin. It is core's own, with core's guard, records, jobs, questions and checks; only the database is in memory.

import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { createArgumentChecks } from '../core/arguments/checks.ts';
import type { Admission } from '../core/contract/admission.ts';
import type { AgentRuns } from '../core/contract/agents.ts';
import type { Asker } from '../core/contract/asking.ts';
import type { Call, Identity } from '../core/contract/context.ts';
import { notFound } from '../core/contract/errors.ts';
import type { ServedVersions } from '../core/contract/following.ts';
import type { Plugin, ToolExecutor } from '../core/contract/kinds.ts';
import type { Models } from '../core/contract/models.ts';
import type { Api, Caller, Gateway, Incoming, JsonObject, OrganizationSettings, Tool, ToolResult } from '../core/contract/nouns.ts';
import type { OutboundRequest } from '../core/contract/outbound.ts';
import { createEgress } from '../core/egress/egress.ts';
import { versionsOf } from '../core/gateways/served.ts';
import { InFlight } from '../core/http/in-flight.ts';
import { createJobs } from '../core/jobs/jobs.ts';
import { createLanes } from '../core/lanes/lanes.ts';
import { Registry } from '../core/registry/registry.ts';
import { createSecrets } from '../core/secrets/envelopes.ts';
import { Memo } from '../core/shared/memo.ts';
import { NamedWorks } from '../core/shared/named-work.ts';
import { createRecordServices } from '../core/shared/plugin-records.ts';
import { createLocal } from '../core/shared/redis.ts';
import { SkillFiles } from '../core/shared/skill-files.ts';
import type { Recorder } from '../core/store/recorder.ts';
import type { Store } from '../core/store/store.ts';
import { WaitingQuestions } from '../core/tools/asking.ts';
import { PluginCall } from '../core/tools/call.ts';
import type { CallParts, Services, ToolShelf } from '../core/tools/call-parts.ts';
import type { ToolEntry } from '../core/tools/entry.ts';
import { createInvoker } from '../core/tools/invoke.ts';
import { NO_IDENTITY } from '../core/tools/no-identity.ts';
import { Breakers } from '../core/upstreams/breakers.ts';
import type { Signer } from '../core/upstreams/credentials.ts';
import { OutboundRun } from '../core/upstreams/outbound.ts';
import { type LogLine, logInto } from './collected-log.ts';
import { MemoryRecords } from './memory-records.ts';
import { createMemoryRuns } from './memory-runs.ts';
import { fakeRequest, ORGANIZATION, sampleCaller, sampleGateway, sampleTool } from './samples.ts';
import { type FakeSkill, type SampleSkill, sampleSkill, storedSkills } from './skills.ts';

/** A tool that a call can list and invoke; `run` is its executor. */
export interface FakeTool extends Partial<Omit<Tool, 'name'>> {
	name: string;
	/** Which of its calls the user must confirm, as an assignment says it. Default: none. */
	confirm?: 'destructive' | 'always';
	run(args: JsonObject): ToolResult | Promise<ToolResult>;
}

export interface FakeCallOptions {
	/** The plugin that makes the call: its jobs run, and its operator's configuration is parsed. Default: an executor without any. */
	plugin?: Plugin;
	/** The config of the plugin at the gateway, as its jobs get it. */
	config?: JsonObject;
	/** The configuration that the operator gives the plugin. */
	operator?: JsonObject;
	/** Origins, addresses and CIDRs to which requests may go, as in EGRESS_ALLOW. Default: public ones only, so not `127.0.0.1`. */
	allow?: readonly string[];
	/** Null: the call has no gateway. */
	gateway?: Partial<Gateway> | null;
	/** Null: the call has no caller. */
	caller?: Partial<Caller> | null;
	request?: Partial<Incoming>;
	/** The tools of the gateway. */
	tools?: readonly FakeTool[];
	/** The skills of the gateway. */
	skills?: readonly FakeSkill[];
	/** The model connections of the organization. Default: it has none. */
	models?: Models;
	/** The agents of the organization. Default: it has none. */
	agents?: AgentRuns;
	/** The tool that runs, and its API: what an executor gets. */
	tool?: Partial<Tool>;
	api?: Api;
	/** Adds the credential of the API. */
	sign?(request: OutboundRequest): OutboundRequest | Promise<OutboundRequest>;
	identity?: Partial<Identity>;
	admission?: readonly Admission[];
	settings?: Partial<OrganizationSettings>;
	/** The client's user. Default: the client cannot ask. */
	ask?: Asker;
	signal?: AbortSignal;
	/** Whether jobs and webhooks run soon after they were begun, or when `runJobs` is called. Default `soon`. */
	jobs?: 'soon' | 'by hand';
}

export interface FakeCall<O = unknown> extends AsyncDisposable {
	call: Call<O>;
	/** The lines that were logged, oldest first. */
	readonly lines: readonly LogLine[];
	/** The progress that was told, oldest first. */
	readonly progress: readonly { done: number; total: number | undefined; message: string | undefined }[];
	/**
	 * Runs the jobs and webhooks that are due at that time, by default now, and resolves when none is left. Pauses between attempts take no
	 * time; a job with a later `runAt` goes on waiting.
	 */
	runJobs(at?: Date): Promise<void>;
	/** Ends what the call left open. */
	close(): Promise<void>;
}

const MEMOS = 1_000;
const ACCOUNT = '00000000-0000-4000-8000-000000000005';

/** Makes a call. Close it when the test ends. @throws Error with the faults of the plugin's manifest, or of the operator's configuration */
export function fakeCall<O = unknown>(options: FakeCallOptions = {}): FakeCall<O> {
	const lines: LogLine[] = [];
	const progress: { done: number; total: number | undefined; message: string | undefined }[] = [];
	const stopping = new AbortController();
	const registry = registryWith(options);
	const records = new MemoryRecords();
	const runs = createMemoryRuns(records, options.jobs === 'by hand');
	const { services, close } = createServices({ options, registry, records, runs: runs.runs, lines, stopping: stopping.signal });
	services.jobs = createJobs({
		...{ registry, runs: runs.runs, secrets: services.seals, egress: services.egress, log: services.log },
		rebuild: async ({ caller, signal }) => ({
			call: new PluginCall(services, { ...parts, caller, signal }),
			config: options.config ?? null,
		}),
	});
	const parts = callParts(options, services);
	parts.listener = (done, total, message) => void progress.push({ done, total, message });
	const end = async (): Promise<void> => {
		stopping.abort(new Error('The test is over.'));
		runs.close();
		await close();
	};
	// The plugin declares the type of its operator's configuration, which was parsed above.
	const call = new PluginCall(services, parts) as Call<unknown> as Call<O>;
	return { call, lines, progress, runJobs: (at) => runs.runAll(at), close: end, [Symbol.asyncDispose]: end };
}

function registryWith({ plugin, operator }: FakeCallOptions): Registry {
	const registry = new Registry();
	if (plugin) registry.add(plugin);
	const id = plugin && `${plugin.kind}:${plugin.name}`;
	registry.configure(id !== undefined && operator ? { file: 'the test', entries: new Map([[id, operator]]) } : null);
	return registry;
}

interface ServiceParts {
	options: FakeCallOptions;
	registry: Registry;
	records: MemoryRecords;
	runs: ReturnType<typeof createMemoryRuns>['runs'];
	lines: LogLine[];
	stopping: AbortSignal;
}

function createServices({ options, registry, records: memory, lines, stopping }: ServiceParts): {
	services: Services;
	close(): Promise<void>;
} {
	const log = logInto(lines);
	const egress = createEgress({ allow: [...(options.allow ?? [])] });
	const secrets = createSecrets(randomBytes(32).toString('hex'));
	const lanes = createLanes({ redis: null, log });
	const settings = async (): Promise<OrganizationSettings> => ({ codeMayFetch: true, toolExposure: 'full', ...options.settings });
	const accountOf = async (): Promise<string> => ACCOUNT;
	// A call reads nothing else of the store.
	const skills = storedSkills(options.skills ?? []);
	const store = { records: memory, changes: memory, organizations: { settings, account: accountOf }, skills } as unknown as Store;
	const records = createRecordServices({ store, secrets, accountOf });
	const argumentChecks = createArgumentChecks(accountOf);
	const recorder = { add: () => undefined, request: () => undefined } as unknown as Recorder;
	const invoker = createInvoker({ services: () => services, registry, secrets, recorder, argumentChecks });
	const services: Services = {
		...{ log, egress, breakers: new Breakers(), lanes, shared: createLocal(), store, records, memo: new Memo(MEMOS), accountOf },
		...{ signer: UNSIGNED, invoker, inFlight: new InFlight(), seals: secrets, waitingQuestions: new WaitingQuestions(stopping) },
		skillFiles: new SkillFiles(store),
		operatorOf: (plugin) => registry.operator(plugin),
		agents: { of: () => options.agents ?? NO_AGENTS },
		models: { of: (_organization, signal) => modelsWithin(options.models ?? NO_MODELS, signal) },
		outputChecks: argumentChecks.outputs,
		jobs: { jobs: notYet, deliver: notYet, deliveries: notYet },
		named: new NamedWorks(memory),
		followServed: unchanging,
	};
	const close = async (): Promise<void> => {
		records.close();
		await Promise.all([egress.close(), lanes.close(), argumentChecks.close()]);
	};
	return { services, close };
}

/** The tools of a test do not change. */
async function* unchanging({ shelf }: CallParts, signal: AbortSignal): AsyncGenerator<ServedVersions, void> {
	if (!signal.aborted) yield versionsOf(shelf, '');
	await new Promise((resolve) => (signal.aborted ? resolve(null) : signal.addEventListener('abort', resolve, { once: true })));
}

const notYet = (): never => {
	throw new Error('The desk of jobs is made after the rest.');
};

/** There are no stored credentials: `options.sign` signs. */
const noConnection = (): never => {
	throw notFound('LLM provider');
};
const NO_MODELS: Models = { chat: noConnection, ask: async () => noConnection() };

const NO_AGENTS: AgentRuns = {
	run: async () => {
		throw notFound('Agent');
	},
};

/** Calls of models end with the call. */
const modelsWithin = (models: Models, signal: AbortSignal): Models => {
	const both = (own?: AbortSignal): AbortSignal => (own ? AbortSignal.any([signal, own]) : signal);
	return { chat: (request, own) => models.chat(request, both(own)), ask: (request, own) => models.ask(request, both(own)) };
};

const UNSIGNED: Signer = {
	sign: async (request) => ({ request, secrets: [], token: null }),
	preview: (request) => request,
	places: () => [],
};

function callParts(options: FakeCallOptions, services: Services): CallParts {
	const { plugin, signal = new AbortController().signal, admission, ask = null } = options;
	const gateway = options.gateway === null ? null : sampleGateway(options.gateway);
	const caller = options.caller === null ? null : sampleCaller(options.caller);
	const isExecutor = plugin === undefined || plugin.kind === 'executor';
	const organizationId = gateway?.organizationId ?? ORGANIZATION;
	const shelf = shelfOf(options.tools ?? [], (options.skills ?? []).map(sampleSkill));
	return {
		...{ plugin: plugin ? `${plugin.kind}:${plugin.name}` : 'executor:fake', organizationId, gateway, caller, shelf, signal },
		...{ identity: { ...NO_IDENTITY, ...options.identity }, listener: null, asker: ask, lists: true },
		...(options.request && { incoming: fakeRequest(options.request) }),
		...(admission && { admission: () => admission }),
		entry: isExecutor || options.tool ? { tool: sampleTool(options.tool), api: options.api ?? null, credentials: [] } : null,
		...((isExecutor || options.sign) && { outbound: new SigningRun(options, services, { organizationId, signal }) }),
	};
}

/** The requests of an executor, with retries and breakers, signed as the test says. */
class SigningRun extends OutboundRun {
	readonly #sign: FakeCallOptions['sign'];

	constructor({ sign, api }: FakeCallOptions, services: Services, scope: { organizationId: string; signal: AbortSignal }) {
		super({ ...services, ...scope, lane: null, api: api ?? null, credentials: [] });
		this.#sign = sign;
	}

	override async sign(request: OutboundRequest): Promise<OutboundRequest> {
		return this.#sign ? this.#sign(request) : super.sign(request);
	}
}

function shelfOf(tools: readonly FakeTool[], skills: readonly SampleSkill[]): ToolShelf {
	const entries = tools.map((tool, at) => entryOf(tool, at));
	const list = Object.freeze(entries.map(({ tool }) => tool));
	const listed = Object.freeze(skills.map(({ skill }) => skill));
	return {
		list: () => list,
		skills: () => listed,
		find: (ref) => entries.find(({ tool }) => ('name' in ref ? tool.name === ref.name : tool.id === ref.id)) ?? null,
	};
}

function entryOf({ run, confirm, ...more }: FakeTool, at: number): ToolEntry {
	const tool = Object.freeze(sampleTool({ id: `00000000-0000-4000-8000-1${String(at).padStart(11, '0')}`, ...more }));
	const executor = { kind: 'executor', name: tool.executor, execute: async (args: JsonObject) => run(args) } as unknown as ToolExecutor;
	const ready = (): { executor: ToolExecutor; config: JsonObject } => ({ executor, config: {} });
	return {
		...{ tool, whole: null, filled: [], assertsFormats: true, flattened: null, api: null, credentials: [], lane: null, passThrough: [] },
		...{ limit: null, maxResultBytes: null, confirm: confirm ?? null, payloads: null, ready, masked: ready },
	};
}

/** Makes a call that may go to 127.0.0.1, and is closed with the test. */
export function loopbackCall(t: TestContext, options: FakeCallOptions = {}): Call {
	const fake = fakeCall({ allow: ['127.0.0.1'], ...options });
	t.after(() => fake.close());
	return fake.call;
}
