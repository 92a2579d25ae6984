// The parts of a call: what core lends to all of them, and what belongs to one.

import type { ArgumentChecks } from '../arguments/checks.ts';
import type { Admission } from '../contract/admission.ts';
import type { AgentRuns } from '../contract/agents.ts';
import type { Asker } from '../contract/asking.ts';
import type { ProgressListener } from '../contract/call-options.ts';
import type { Identity } from '../contract/context.ts';
import type { GatewayError } from '../contract/errors.ts';
import type { ServedVersions } from '../contract/following.ts';
import type { Api, Caller, Gateway, Incoming, JsonObject, Log, Scope, Tool, ToolRef } from '../contract/nouns.ts';
import type { OrganizationChoice } from '../contract/organizations.ts';
import type { Skill } from '../contract/skills.ts';
import type { Egress } from '../egress/egress.ts';
import type { InFlight } from '../http/in-flight.ts';
import type { Lanes } from '../lanes/lanes.ts';
import type { ModelConnections } from '../models/connections.ts';
import type { RunBudget, Spending } from '../models/spending.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { AccountOf } from '../shared/accounts.ts';
import type { Memo } from '../shared/memo.ts';
import type { NamedWorks } from '../shared/named-work.ts';
import type { RecordServices } from '../shared/plugin-records.ts';
import type { Shared } from '../shared/redis.ts';
import type { SkillFiles } from '../shared/skill-files.ts';
import type { CredentialRow, LineNames, RecordStore, Store } from '../store/store.ts';
import type { Breakers } from '../upstreams/breakers.ts';
import type { CredentialHealth } from '../upstreams/credential-health.ts';
import type { Signer } from '../upstreams/credentials.ts';
import type { Outbound } from '../upstreams/outbound.ts';
import type { LookingMethod } from '../upstreams/pass-through.ts';
import type { WaitingQuestions } from './asking.ts';
import type { ToolEntry, ToolLimit } from './entry.ts';
import type { Invoker } from './invoke.ts';
import type { CallReach, JobDesk } from './job-desk.ts';
import type { Budget } from './result-budget.ts';

/** The run of an agent around a call. */
export interface AgentAround {
	runId: string;
	/** The ids of the agents that wait for each other, the outermost first. */
	chain: readonly string[];
	/** The budgets of their runs. */
	within: readonly RunBudget[];
}

/** The parts of core that a call uses. */
export interface Services {
	log: Log;
	egress: Egress;
	breakers: Breakers;
	lanes: Lanes;
	shared: Shared;
	store: Store;
	records: RecordServices;
	memo: Memo;
	skillFiles: SkillFiles;
	accountOf: AccountOf;
	signer: Signer;
	invoker: Invoker;
	/** Told when calls in flight have no more time, since the service stops. */
	inFlight: InFlight;
	jobs: JobDesk;
	models: Pick<ModelConnections, 'of'>;
	credentialHealth?: CredentialHealth;
	/** Runs agents on behalf of a call. */
	agents: { of(call: CallParts): AgentRuns };
	/** Checks data by schemas. */
	outputChecks: ArgumentChecks['outputs'];
	named: NamedWorks;
	/** Follows the versions of what a call's gateway serves, or its gateways. */
	followServed(call: CallParts, signal: AbortSignal): AsyncIterable<ServedVersions>;
	/** Encrypts what clients carry, and logs nothing. */
	seals: Secrets;
	waitingQuestions: WaitingQuestions;
	/** Returns the operator's configuration of a plugin, by `kind:name`. */
	operatorOf(plugin: string): unknown;
}

/** The tools and skills that one caller can reach: a gateway's, or one tool of an organization. */
export interface ToolShelf {
	list(): readonly Tool[];
	find(tool: ToolRef): ToolEntry | null;
	skills(): readonly Skill[];
}

/** The parts of one call: the plugin, the gateway and the caller that it belongs to. */
export interface CallParts {
	/** `kind:name` of the plugin that makes the call: its stored data is private to it. */
	plugin: string;
	organizationId: string;
	gateway: Gateway | null;
	caller: Caller | null;
	shelf: ToolShelf | null;
	/** The gateway's authentication methods, with the headers in which they look for credentials. */
	methods?: readonly LookingMethod[];
	/** The challenge by which the method that authenticated the caller asks for one more scope; null when it takes no Bearer tokens. */
	challenge?: (caller: Caller, scope: Scope) => string | null;
	/** Returns the methods by which the gateway admits callers; absent without a gateway. */
	admission?: () => readonly Admission[];
	/** Whether the route declares that it tells which tools the gateway serves. */
	lists?: boolean;
	/** The gateways of a call over several of them, also inside an executor; absent in a call at one gateway. */
	reach?: CallReach;
	identity: Identity;
	/** The organizations, where the request has not named one yet: `organizationId` is empty. */
	organizations?: OrganizationChoice;
	/** Absent when the call comes from no request to a gateway. */
	incoming?: Incoming;
	/** The request of the management API from which the call comes, for the request log. */
	asked?: { requestId: string; userAgent: string | null };
	signal: AbortSignal;
	/** The config of the transport, for jobs that begin with this call; absent in calls of others. */
	config?: JsonObject;
	/** Whether an attempt at a job makes the call: a tool that the signal ends gives no result then. */
	ofJob?: boolean;
	/** The tool being run, inside an executor. */
	entry: { tool: Tool; api: Api | null; credentials: readonly CredentialRow[] } | null;
	listener: ProgressListener | null;
	/** The names in the log's line of the request, which learn the tool. */
	names?: LineNames;
	/** The way to the user of the client. */
	asker?: Asker | null;
	/** `kind:name` of the plugin that lent the asker. */
	askedBy?: string;
	/** Keeps results that are cut, and tells the client how to get them; absent where it has no way to. */
	keep?: Budget['keep'];
	/** Whether its results must keep the output schema of their tool, also where its API promises nothing. */
	strictOutput?: boolean;
	/** Ends the run inside an executor, which the client will begin again. */
	suspend?: ((reason: GatewayError) => void) | undefined;
	/** Replaces the service's own record store: records are written in the name of a user. */
	records?: RecordStore;
	/** Sealed fields of records are hidden: what is read is shown in an answer. */
	hidesSealed?: boolean;
	/** The way out for requests, inside an executor. */
	outbound?: Outbound;
	/** The run of an agent for which the call is made: the agents around it, the outermost first, and how it runs others. */
	ofAgent?: AgentAround;
	/** The budgets and the meter that its calls of models count for, besides their connections. */
	spending?: Spending;
	/** Nothing may have an effect. */
	isDry?: boolean;
	/** Counts a call of a tool that has a limit of its own; absent without a gateway. @throws rate_limited */
	countTool?: (limit: ToolLimit) => Promise<void>;
	/** Counts a tool's run as a request of the caller, where `isCounted`; absent outside a request. @throws rate_limited */
	countCall?: () => Promise<void>;
	isCounted?: boolean;
}
