// A call over several gateways of an organization: one shelf with the tools of all of them, each run as its own gateway runs it.

import type { Request } from '@hapi/hapi';
import type { Admission } from '../contract/admission.ts';
import { asGatewayError, GatewayError, invalid, notFound } from '../contract/errors.ts';
import type { Caller, Incoming, OrganizationSettings } from '../contract/nouns.ts';
import { callerAgain } from '../identity/again.ts';
import { gatewayKey } from '../identity/gateway-keys.ts';
import { admittingOf, checkRules } from '../identity/gateway-rules.ts';
import type { Members } from '../identity/members.ts';
import type { Reach } from '../identity/reach.ts';
import { BoundedMap } from '../kit/bounded-map.ts';
import { deepFreeze } from '../kit/json.ts';
import type { Limits } from '../limits/limits.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { GatewayRow, Store, ValidationRules } from '../store/store.ts';
import { PluginCall } from '../tools/call.ts';
import type { CallParts, Services, ToolShelf } from '../tools/call-parts.ts';
import type { ToolLimit } from '../tools/entry.ts';
import { NO_IDENTITY } from '../tools/no-identity.ts';
import { ANONYMOUS } from './check-caller.ts';
import { mergeShelves } from './merge-shelves.ts';
import type { MountedGateway } from './mount.ts';

export interface MergedScope extends Reach {
	/** `kind:name` of the plugin that makes the call: its stored data is private to it and the organization. */
	plugin: string;
	/**
	 * The request that is served; limits of tools count in it. Without one, the caller's credential is looked up again, and gateways that have
	 * rules for requests are left out.
	 */
	request?: Request;
	incoming?: Incoming;
	signal: AbortSignal;
	/** The fixed address of the transport, at which its jobs find its config again. */
	path?: string;
	/** Whether the route declares that it tells which tools are served. */
	lists?: boolean;
	/** Returns the methods by which the address admits callers. */
	admission?: () => readonly Admission[];
	/** Returns the challenge for one more scope, of the method that admitted the caller. */
	challenge?: NonNullable<CallParts['challenge']>;
}

export interface MergedGateways {
	/**
	 * Returns a call over gateways of an organization. A member keeps the scopes that their role has now; a gateway's key reaches that
	 * gateway, and anybody else nothing. Gateways whose rules refuse the request are left out.
	 * @throws forbidden, not_found for a named gateway that the organization does not have or that is not active, unavailable
	 */
	callOf(scope: MergedScope): Promise<PluginCall>;
	/** Returns the tools of such a call, as they are now. @throws not_found, unavailable */
	shelfOf(scope: Pick<MergedScope, 'organizationId' | 'gateways'> & { incoming: Incoming | undefined }): Promise<ToolShelf>;
	/** Returns the settings of an organization, as they are now. @throws unavailable */
	settingsOf(organizationId: string): Promise<OrganizationSettings>;
	/** Returns the caller of work that outlived its request, as their credential and role are now, with the scopes that they had. @throws forbidden */
	callerNow(reach: Reach): Promise<Caller>;
	/** Returns the reach of a key of this gateway; null when it is none, or not live. */
	keyReach(organizationId: string, gatewayId: string, secret: string): Promise<Reach | null>;
	close(): void;
}

export interface MergedParts {
	store: Store;
	members: Members;
	limits: Limits;
	services: Services;
	/** Returns the prepared gateway of an address, as requests to it get it. */
	gatewayAt(organizationSlug: string, endpoint: string): Promise<MountedGateway | null>;
	/** Returns a caller whom a method admitted at a fixed address, as they are now; undefined for callers of no such method. */
	boundAgain(caller: Caller, organizationId: string): Promise<Caller | null> | undefined;
}

/** The organizations kept ready in this process, and of each the selections of gateways, and the shelves. */
const ORGANIZATIONS = 200;
const SELECTIONS = 32;
/** The most gateways of one call: `all` are the oldest of them. */
const MOST_GATEWAYS = 200;
const PAGE = 100;
const LOADED_AT_ONCE = 8;

/** The parts of a request that rules look at. */
type Asking = Pick<Incoming, 'address' | 'headers'>;

/** Meets no rule that there is. */
const NO_REQUEST: Asking = { address: '', headers: {} };

/** Gateways of one organization, the oldest first. */
interface Selection {
	gateways: readonly MountedGateway[];
	/** By the ids of the gateways that admit the request, which are nearly always all. */
	shelves: BoundedMap<string, Promise<ToolShelf>>;
}

/** The things that are kept of an organization until something changes there. */
interface MergedCache {
	selections: BoundedMap<string, Promise<Selection>>;
	settings: Promise<OrganizationSettings> | null;
}

export function createMerged(parts: MergedParts): MergedGateways {
	const { store, services, limits } = parts;
	const known = new BoundedMap<string, MergedCache>(ORGANIZATIONS);
	const unsubscribe = store.changes.subscribe((topics) => {
		if (topics.includes('*')) known.clear();
		for (const topic of topics) if (topic.startsWith('org:')) known.delete(topic.slice('org:'.length));
	});
	const knownOf = async (organizationId: string): Promise<MergedCache> => {
		const news = store.changes.fresh(STALE_MS);
		if (news) await news;
		const one = known.get(organizationId) ?? { selections: new BoundedMap(SELECTIONS), settings: null };
		known.set(organizationId, one);
		return one;
	};
	const settingsOf = async (organizationId: string): Promise<OrganizationSettings> => {
		const one = await knownOf(organizationId);
		const settings = one.settings ?? store.organizations.settings(organizationId).then(deepFreeze);
		one.settings = settings;
		settings.catch(() => {
			if (one.settings === settings) one.settings = null;
		});
		return settings;
	};
	const select = async (organizationId: string, gateways: Reach['gateways']): Promise<Selection> => {
		const { selections } = await knownOf(organizationId);
		const key = gateways === 'all' ? 'all' : [...new Set(gateways)].sort().join(' ');
		const found = selections.get(key) ?? load(organizationId, gateways, parts);
		selections.set(key, found);
		found.catch(() => selections.get(key) === found && selections.delete(key));
		return found;
	};
	return {
		async callOf({ organizationId, caller: given, gateways, plugin, request, incoming, signal, path = null, ...route }) {
			const selection = await select(organizationId, gateways);
			const reach = { organizationId, caller: given, gateways };
			const caller = request ? await currentCaller(reach, parts) : await callerNow(reach, parts);
			const subject = caller.subject === ANONYMOUS ? null : caller.subject;
			const later = subject ?? `later:${organizationId}`;
			return new PluginCall(services, {
				...{ plugin, organizationId, caller, signal, gateway: null, identity: NO_IDENTITY, entry: null, listener: null },
				...{ reach: { gateways, path }, ...(incoming && { incoming }), ...routeOf(route) },
				shelf: await shelfOf(selection, incoming ?? NO_REQUEST),
				countCall: async () => request && countRequest(limits, request, caller),
				countTool: (limit: ToolLimit) => (request ? limits.ofTool(request, limit, subject) : limits.ofLaterTool(limit, later)),
			});
		},
		shelfOf: async ({ organizationId, gateways, incoming }) => shelfOf(await select(organizationId, gateways), incoming ?? NO_REQUEST),
		settingsOf,
		callerNow: (reach) => callerNow(reach, parts),
		async keyReach(organizationId, gatewayId, secret) {
			const { gateways } = await select(organizationId, [gatewayId]);
			const caller = gateways[0] && (await gatewayKey(secret, gateways[0], store));
			return caller ? { organizationId, caller: deepFreeze(caller), gateways: [gatewayId] } : null;
		},
		close() {
			unsubscribe();
			known.clear();
		},
	};
}

/** @throws not_found for a named gateway that is not there, or is not active */
async function load(organizationId: string, gateways: Reach['gateways'], { store, services, gatewayAt }: MergedParts): Promise<Selection> {
	const organization = await store.organizations.get(organizationId);
	if (!organization) throw notFound('Organization');
	const rows = gateways === 'all' ? await oldestOf(organizationId, store) : await namedOf(organizationId, gateways, store);
	const mounted: MountedGateway[] = [];
	for (let at = 0; at < rows.length; at += LOADED_AT_ONCE) {
		const some = rows.slice(at, at + LOADED_AT_ONCE);
		const loaded = await Promise.all(
			some.map(({ endpoint }) => gatewayAt(organization.slug, endpoint).catch(leaveOut(services, endpoint))),
		);
		mounted.push(...loaded.filter((one) => one !== null));
	}
	return { gateways: mounted, shelves: new BoundedMap(SELECTIONS) };
}

async function oldestOf(organizationId: string, store: Store): Promise<GatewayRow[]> {
	const rows: GatewayRow[] = [];
	for (let cursor: string | null = ''; cursor !== null && rows.length < MOST_GATEWAYS; ) {
		const page = { limit: PAGE, sort: 'createdAt', ...(cursor !== '' && { cursor }) };
		const { items, nextCursor } = await store.gateways.list(organizationId, page, { status: 'active' });
		rows.push(...items);
		cursor = nextCursor;
	}
	return rows;
}

async function namedOf(organizationId: string, ids: readonly string[], store: Store): Promise<GatewayRow[]> {
	const unique = [...new Set(ids)];
	if (unique.length > MOST_GATEWAYS) throw invalid('/gateways', `A call may name at most ${MOST_GATEWAYS} gateways.`);
	const rows: GatewayRow[] = [];
	for (const id of unique) {
		const row = await store.gateways.get(organizationId, id);
		if (row?.status !== 'active') throw notFound('Gateway');
		rows.push(row);
	}
	return rows.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}

/** A gateway that cannot be prepared, since its transport is not loaded or its config unreadable, does not take the others along. */
const leaveOut =
	({ log }: Services, endpoint: string) =>
	(thrown: unknown): null => {
		const error = asGatewayError(thrown);
		if (!error || error.code === 'unavailable') throw thrown;
		log.warn({ endpoint, error: error.code }, 'a gateway is left out of the calls over all of its organization');
		return null;
	};

/** @throws forbidden for a caller who has no place in the organization */
async function currentCaller({ organizationId, caller, gateways }: Reach, { members }: MergedParts): Promise<Caller> {
	if (caller.keyId !== undefined) {
		assertOwnGateway(gateways);
		return caller;
	}
	const member = caller.userId === undefined ? null : await members.byId(caller.userId, { organizationId, id: '' });
	// Grants from before the user joined are void.
	if (!member || caller.memberSince?.getTime() !== member.memberSince?.getTime())
		throw new GatewayError('forbidden', 'The credential is valid, but not for this organization.');
	return deepFreeze({ ...caller, scopes: caller.scopes.filter((scope) => member.scopes.includes(scope)) });
}

/** @throws forbidden for a key of a gateway that shall reach others */
function assertOwnGateway(gateways: Reach['gateways']): void {
	if (gateways === 'all' || gateways.length !== 1) throw new GatewayError('forbidden', 'A key of a gateway reaches that gateway only.');
}

/** @throws forbidden when the credential was revoked, has ended, or cannot be found again */
async function callerNow({ organizationId, caller, gateways }: Reach, { store, members, boundAgain }: MergedParts): Promise<Caller> {
	if (caller.keyId !== undefined) assertOwnGateway(gateways);
	const [id = ''] = gateways === 'all' || gateways.length > 1 ? [] : gateways;
	const isOver = caller.expiresAt !== undefined && caller.expiresAt.getTime() <= Date.now();
	const again = () => boundAgain(caller, organizationId) ?? callerAgain(caller, { gateway: { organizationId, id } }, { store, members });
	const now = isOver ? null : await again();
	if (!now) throw new GatewayError('forbidden', 'The credential of the caller who began this is no longer good.');
	const scopes = now.scopes.filter((scope) => caller.scopes.includes(scope));
	return deepFreeze({ ...now, scopes, ...(caller.expiresAt && { expiresAt: caller.expiresAt }) });
}

/** Counts as the address that serves the request did, in the windows of its path. */
async function countRequest(limits: Limits, request: Request, { keyId, userId }: Caller): Promise<void> {
	if (keyId !== undefined) await limits.ofKey(request, keyId);
	else if (userId !== undefined) await limits.ofUser(request, userId);
}

/** The members of a scope that are the route's. */
const routeOf = ({ lists, admission, challenge }: Pick<MergedScope, 'lists' | 'admission' | 'challenge'>) => ({
	...(challenge && { challenge }),
	...(lists !== undefined && { lists }),
	...(admission && { admission }),
});

/**
 * Whether the rules of all methods that admit let the request in: nobody can tell by which of them a member would have come. A gateway without
 * methods, or whose methods are all shut, admits nobody.
 */
function admits({ methods }: MountedGateway, incoming: Asking): boolean {
	const open = admittingOf(methods).filter(({ shut }) => !shut);
	return open.length > 0 && open.every(({ rules }) => isWithin(incoming, rules));
}

function isWithin(incoming: Asking, rules: ValidationRules): boolean {
	try {
		checkRules(incoming, rules);
		return true;
	} catch (thrown) {
		if (asGatewayError(thrown)?.code === 'forbidden') return false;
		throw thrown;
	}
}

function shelfOf({ gateways, shelves }: Selection, incoming: Asking): Promise<ToolShelf> {
	const open = gateways.filter((one) => admits(one, incoming));
	const key = open.map(({ gateway }) => gateway.id).join(' ');
	const shelf = shelves.get(key) ?? mergeShelves(open);
	shelves.set(key, shelf);
	return shelf;
}
