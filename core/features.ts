// The entry point for features, which are trusted with the whole core: all of index.ts, the management API and the rows of the store.

import type { Server } from '@hapi/hapi';
import type { AgentEngine } from './agents/agents.ts';
import type { Alerts } from './alerts/alerts.ts';
import type { ArgumentChecks } from './arguments/checks.ts';
import type { Config } from './config/config.ts';
import type { Base } from './contract/kinds.ts';
import type { Log, Records } from './contract/nouns.ts';
import type { Permissions } from './contract/permissions.ts';
import type { Egress } from './egress/egress.ts';
import type { Explain } from './explain/explain.ts';
import type { Runtime } from './gateways/runtime.ts';
import type { InFlight } from './http/in-flight.ts';
import type { ReservedSegments } from './http/reserved.ts';
import type { Streams } from './http/streams.ts';
import type { Members } from './identity/members.ts';
import type { Resets } from './identity/password-resets.ts';
import type { Imports } from './imports/imports.ts';
import type { ImportJobRunner } from './imports/jobs.ts';
import type { Limits } from './limits/limits.ts';
import type { Mail } from './mail/mail.ts';
import type { RecordAudit } from './management/audit-entries.ts';
import type { CallerOf } from './management/caller.ts';
import type { Declarations } from './management/declarations.ts';
import type { AdmittedRequests } from './management/still-admitted.ts';
import type { ModelConnections } from './models/connections.ts';
import type { Registry } from './registry/registry.ts';
import type { UnfitRows } from './registry/unfit-rows.ts';
import type { Runs } from './runs/runs.ts';
import type { Secrets } from './secrets/envelopes.ts';
import type { Passwords } from './secrets/passwords.ts';
import type { Tokens } from './secrets/tokens.ts';
import type { AccountOf } from './shared/accounts.ts';
import type { FeaturePlace } from './shared/plugin-records.ts';
import type { Shared } from './shared/redis.ts';
import type { Recorder } from './store/recorder.ts';
import type { Store } from './store/store.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import type { Invoker } from './tools/invoke.ts';
import type { JobDesk } from './tools/job-desk.ts';
import type { Report } from './tracker/faults.ts';
import type { Signer } from './upstreams/credentials.ts';

export type * from './agents/agents.ts';
export { contentOf, type TurnEvent } from './agents/chats/chats.ts';
export type { Conversation, Wishes } from './agents/chats/conversation.ts';
export type { Heard } from './agents/chats/heard.ts';
export { MAX_NAMED_ROWS } from './agents/checks/check-rows.ts';
export { POLICY as nodePolicy } from './agents/policy.ts';
export { alertLocation } from './alerts/messages.ts';
export type { Config } from './config/config.ts';
export type { ErrorDetail } from './contract/errors.ts';
export {
	PERMISSIONS,
	type PermissionName,
	permissionsOf,
	permissionToGrant,
	ROLES,
	type Role,
} from './contract/permissions.ts';
export { OUTCOMES, STEPS } from './explain/steps.ts';
export { askManagement, showsRevision } from './gateways/handling.ts';
export { authLocation, gatewayLocation } from './gateways/mount.ts';
export { readBody } from './http/body.ts';
export { clientOf, clientSignal } from './http/client.ts';
export { lastEventIdOf } from './http/server-events.ts';
export { tokenCookie } from './identity/cookies.ts';
export { beginLogin, checkPassword } from './identity/logins.ts';
export type { Holder } from './identity/members.ts';
export type { Reach } from './identity/reach.ts';
export { hasEnded } from './imports/jobs.ts';
export { MAX_PRESETS } from './imports/report.ts';
export { BODIES, IMPORT_BODY, OPERATION_FILTERS } from './imports/request.ts';
export * from './index.ts';
export { invalidAll } from './kit/input-faults.ts';
export { parseRange } from './kit/ip-addresses.ts';
export { emailAddress, isBareAddress, isSameAddress, oneLine } from './kit/mail-address.ts';
export { MAILS } from './limits/table.ts';
export type { Message } from './mail/mail.ts';
export { requireOf, requirePermission } from './management/access.ts';
export { actorOf, organizationOf, storeOf, userIdOf } from './management/credentials.ts';
export { dateTime } from './management/date-time.ts';
export { EXPORT_FORMATS, EXPORT_TYPES, type ExportFormat, exportFormat, exportRows } from './management/exports.ts';
export { claimKey } from './management/idempotency.ts';
export { expectedVersion } from './management/if-match.ts';
export {
	accept,
	type Endpoint,
	isOfContext,
	operation,
	setCookie,
	showPreferences,
	showVersion,
	takesIfMatch,
} from './management/operation.ts';
export { present } from './management/present.ts';
export { updateRenewed } from './management/renewal.ts';
export {
	body,
	count,
	description,
	displayName,
	filterOf,
	icon,
	jsonObject,
	listQuery,
	page,
	pageOf,
	removal,
	removalQuery,
	text,
	uuid,
	words,
} from './management/rest.ts';
export { saveContext } from './management/save-context.ts';
export { agentOfConfig, checkByPlugin } from './management/saving.ts';
export { plainSlug, slugs } from './management/slugs.ts';
export { answerEvents } from './management/streaming.ts';
export { llmProviderLocation } from './models/connections.ts';
export { inDollars } from './models/costs.ts';
export { KIND_NAMES, KINDS } from './registry/kinds.ts';
export type { Registry } from './registry/registry.ts';
export { unknownType } from './registry/registry.ts';
export { configVersion, currentConfig, type StoredConfig, shownConfig } from './registry/stored-configs.ts';
export { configSchema as jsonSchemaOf } from './registry/write-only.ts';
export { anyPassword, passwordRule } from './secrets/passwords.ts';
export { ACCESS_KEY_PREFIX, GATEWAY_KEY_PREFIX, hashKey, JWT, LOGIN_LIFETIME_MS, type Login, mintKey } from './secrets/tokens.ts';
export { ALERT_KINDS } from './store/alerts.ts';
export { REQUEST_KINDS } from './store/analytics.ts';
export { percentile } from './store/histogram.ts';
export { bucketAt, lengthOf } from './store/metric-cells.ts';
export type * from './store/store.ts';
export { namedToolLocation, openedConfig, storedTool, toolConfig, toolLocation } from './tools/entry.ts';
export { credentialLocation, isCredentialType } from './upstreams/credential-types.ts';
export { shownPlace } from './upstreams/credentials.ts';
export { assertPassable, PASS_THROUGH } from './upstreams/pass-through.ts';

export interface Core {
	config: Config;
	log: Log;
	telemetry: Telemetry;
	registry: Registry;
	store: Store;
	accountOf: AccountOf;
	secrets: Secrets;
	tokens: Tokens;
	passwords: Passwords;
	members: Members;
	mail: Mail;
	resets: Resets;
	egress: Egress;
	signer: Signer;
	shared: Shared;
	argumentChecks: ArgumentChecks;
	invoker: Invoker;
	imports: Imports;
	importJobs: ImportJobRunner;
	runs: Runs;
	/** The requests that are being answered. */
	inFlight: InFlight;
	/** The event streams of this process; `answerEvents` opens one. */
	streams: Streams;
	/** The callers of those of the management API. */
	admitted: AdmittedRequests;
	/** The desk of jobs, for a plugin that has no call. */
	jobs: JobDesk;
	/** Calls of organizations' model connections. */
	models: ModelConnections;
	/** The agents of organizations: checked, started, told of. */
	agents: AgentEngine;
	runtime: Runtime;
	recorder: Recorder;
	limits: Limits;
	/** Returns the feature's own records of an organization, or of one of its gateways. */
	recordsOf(place: FeaturePlace): Records;
	/** Records a change of a resource whose type the route's feature declares in `audits`. */
	recordAudit: RecordAudit;
	/** Returns the caller of a request of the management API, for jobs: their attempts end when the login or key has ended. */
	callerOf: CallerOf;
	/** The rows that no plugin can use. */
	unfitRows: UnfitRows;
	/** Tells the error tracker of a fault, if there is one. */
	reportFault: Report;
	/** Says why a call at a gateway would be admitted or refused. */
	explain: Explain;
	alerts: Alerts;
	/** Our permissions and those of the features. */
	permissions: Permissions;
	/** The first segments of paths that no organization may have as its slug. */
	reserved: ReservedSegments;
	/** Aborted when stopping is announced: requests are served as before, but load balancers should send no more. */
	leaving: AbortSignal;
	/** Aborted as the first step of stopping: open streams end. */
	stopping: AbortSignal;
}

export interface Feature<C = unknown> extends Omit<Base<C>, 'operator' | 'version' | 'upgrade'>, Declarations {
	kind: 'feature';
	/** Registers a plain hapi plugin, trusted with the core. @param config the operator's, from GATEWAY_PLUGINS_CONFIG; frozen */
	register(server: Server, config: C, core: Core): void | Promise<void>;
}

declare module './contract/kinds.ts' {
	interface Kinds {
		feature: Feature;
	}
}
