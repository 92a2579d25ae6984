// Makes a call anew for work that outlived its request: the gateway is mounted as it is now, and the caller checked as at a request, by
// the method that admitted them.

import { GatewayError, notFound } from '../contract/errors.ts';
import type { Caller, JsonObject, Scope } from '../contract/nouns.ts';
import { memberAgain } from '../identity/again.ts';
import { admittingOf } from '../identity/gateway-rules.ts';
import type { Identities, RequestIdentity } from '../identity/identity.ts';
import type { Members } from '../identity/members.ts';
import type { Limits } from '../limits/limits.ts';
import { answerOf } from '../process/hooks.ts';
import type { Store } from '../store/store.ts';
import { PluginCall } from '../tools/call.ts';
import type { CallParts, Services } from '../tools/call-parts.ts';
import type { ToolLimit } from '../tools/entry.ts';
import type { CallReach } from '../tools/job-desk.ts';
import { NO_IDENTITY } from '../tools/no-identity.ts';
import { type MountedMethod, scopeChallenge } from './authenticate.ts';
import { checkCaller, withoutRealm } from './check-caller.ts';
import type { FixedRoutes } from './fixed-routes.ts';
import type { MergedGateways } from './merged.ts';
import type { MountedGateway } from './mount.ts';
import type { StreamCaller } from './still-admitted.ts';

/** The call from which the work began. */
export interface CallOrigin {
	/** `kind:name`. */
	plugin: string;
	organizationId: string;
	/** Null: the call belonged to an organization only. */
	gatewayId: string | null;
	/** Null: it had none. */
	caller: Caller | null;
	/** The gateways of a call over several of them, which admitted the caller in place of a gateway's methods. */
	reach?: CallReach | null;
	signal: AbortSignal;
}

export interface Rebuilt {
	call: PluginCall;
	/** The config of the plugin at the gateway or fixed address: of its transport, or of its method. */
	config: JsonObject | null;
}

export interface RebuildParts {
	store: Store;
	members: Members;
	services: Services;
	limits: Limits;
	gateways: { get(organizationSlug: string, endpoint: string): Promise<MountedGateway | null> };
	identities: Identities;
	merged: Pick<MergedGateways, 'callOf' | 'callerNow'>;
	fixed: Pick<FixedRoutes, 'configAt'>;
}

/** @throws not_found when the gateway is gone, inactive, or has this plugin no more; forbidden when the caller's rights have ended */
export async function rebuild(origin: CallOrigin, parts: RebuildParts): Promise<Rebuilt> {
	const { plugin, organizationId, gatewayId, reach = null, signal } = origin;
	// Whatever was withdrawn before this moment counts.
	await parts.store.changes.fresh(0);
	const own = { plugin, organizationId, signal, entry: null, listener: null };
	if (gatewayId === null && reach) return rebuildMerged({ ...origin, reach }, parts);
	if (gatewayId === null) {
		const caller = origin.caller && (await memberOf(origin.caller, organizationId, parts));
		const call = new PluginCall(parts.services, { ...own, gateway: null, caller, shelf: null, identity: NO_IDENTITY });
		return { call, config: null };
	}
	const mounted = await find(organizationId, gatewayId, parts);
	const config = configOf(plugin, mounted);
	const identity = parts.identities.at(mounted, null);
	const { gateway, methods } = mounted;
	const challenge = (caller: Caller, scope: Scope) => scopeChallenge(scope, { gateway, caller, methods });
	const around = { ...own, gateway, methods, challenge, identity };
	const rechecking = { mounted, identity, around, services: parts.services };
	const again = reach ? (caller: Caller) => parts.merged.callerNow({ ...reach, organizationId, caller }) : recheck;
	const caller = origin.caller && (await again(origin.caller, rechecking));
	const subject = caller?.subject ?? `later:${gatewayId}`;
	const countTool = (limit: ToolLimit): Promise<void> => parts.limits.ofLaterTool(limit, subject);
	// An auth method has no tools in a request either.
	const shelf = plugin.startsWith('transport:') ? mounted.shelf : null;
	return { call: new PluginCall(parts.services, { ...around, caller, shelf, countTool, ofJob: true }), config };
}

/** Returns the caller of an open stream as they are now. @throws not_found when the gateway or plugin is gone; forbidden when their rights have ended */
export async function callerOfStream(
	{ plugin, organizationId, gateway: at, caller, reach }: StreamCaller,
	signal: AbortSignal,
	parts: RebuildParts,
): Promise<Caller> {
	if (!at || reach) return parts.merged.callerNow({ gateways: 'all', ...reach, organizationId, caller });
	const mounted = await parts.gateways.get(at.organizationSlug, at.endpoint);
	if (mounted?.gateway.id !== at.id) throw notFound('Gateway');
	configOf(plugin, mounted);
	const { gateway, methods } = mounted;
	const identity = parts.identities.at(mounted, null);
	const around = { plugin, organizationId, gateway, methods, identity, signal, entry: null, listener: null };
	return recheck(caller, { mounted, identity, around, services: parts.services });
}

/** @throws not_found when the transport is served there no more; forbidden */
async function rebuildMerged(
	{ plugin, organizationId, caller, signal, reach: { gateways, path } }: CallOrigin & { reach: CallReach },
	{ merged, fixed }: RebuildParts,
): Promise<Rebuilt> {
	if (!caller) throw ended('is unknown');
	const config = path === null ? null : await fixed.configAt(path, plugin, organizationId);
	return { call: await merged.callOf({ organizationId, caller, gateways, plugin, signal, ...(path !== null && { path }) }), config };
}

async function find(organizationId: string, gatewayId: string, { store, gateways }: RebuildParts): Promise<MountedGateway> {
	const [organization, row] = await Promise.all([store.organizations.get(organizationId), store.gateways.get(organizationId, gatewayId)]);
	const mounted = organization && row && (await gateways.get(organization.slug, row.endpoint));
	if (mounted?.gateway.id !== gatewayId) throw notFound('Gateway');
	return mounted;
}

/** Returns the config of a transport or a method. @throws not_found when the gateway has it no more */
function configOf(plugin: string, mounted: MountedGateway): JsonObject | null {
	const [kind, name] = plugin.split(':');
	if (kind === 'auth') {
		const method = mounted.methods.find((one) => one.plugin.name === name);
		if (!method) throw new GatewayError('not_found', `The gateway has the authentication method ${name} no more.`);
		if (method.shut) throw method.shut;
		return method.config;
	}
	if (kind !== 'transport') return null;
	if (mounted.plugin !== plugin) throw new GatewayError('not_found', `The gateway has the transport ${name} no more.`);
	return mounted.config;
}

interface Rechecking {
	mounted: MountedGateway;
	identity: RequestIdentity;
	around: Omit<CallParts, 'caller' | 'shelf'>;
	services: Services;
}

/** Returns the caller with the scopes that they had and still have. @throws forbidden */
async function recheck(caller: Caller, { mounted, identity, around, services }: Rechecking): Promise<Caller> {
	if (isOver(caller)) throw ended('has expired');
	const methods = admittingOf(mounted.methods).filter(({ plugin, shut }) => plugin.name === caller.method && !shut);
	if (methods.length === 0) throw ended('is of a method that this gateway does not admit callers by any more');
	for (const method of methods) {
		const { name, recheck: again } = method.plugin;
		if (!again) throw ended('cannot be checked again: its authentication method has no recheck');
		const context = new PluginCall(services, { ...around, plugin: `auth:${name}`, caller: null, shelf: null });
		const now = checkCaller(name, await ask(method, caller, context), (subject) => identity.given(subject), method.realm);
		if (now?.subject === caller.subject && !isOver(now)) return reduced(now, caller);
	}
	throw ended('is no longer good');
}

/** Returns a caller with the scopes that they had when they began. */
const reduced = (now: Caller, { scopes }: Caller): Caller =>
	Object.freeze({ ...now, scopes: Object.freeze(now.scopes.filter((scope) => scopes.includes(scope))) });

const isOver = ({ expiresAt }: Caller): boolean => expiresAt !== undefined && expiresAt.getTime() <= Date.now();

/** @throws PluginFault when the method gives no answer in time */
function ask({ plugin, config, realm }: MountedMethod, caller: Caller, context: PluginCall): Promise<unknown> {
	const hook = { plugin: `auth:${plugin.name}`, hook: 'recheck' };
	return answerOf(hook, () => plugin.recheck?.(withoutRealm(caller, plugin.name, realm), config, context));
}

/**
 * Returns a caller of the management API with the role that they have now: a member by the credential with which they began. One who names none is
 * checked as a member. @throws forbidden
 */
async function memberOf(caller: Caller, organizationId: string, parts: RebuildParts): Promise<Caller> {
	if (isOver(caller)) throw ended('has expired');
	const now = await memberAgain(caller, { id: '', organizationId }, parts);
	if (!now || now.subject !== caller.subject) throw ended('is no longer good');
	return reduced(now, caller);
}

const ended = (why: string): GatewayError => new GatewayError('forbidden', `The credential of the caller who began this ${why}.`);
