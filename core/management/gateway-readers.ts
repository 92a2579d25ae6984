// Gateways' keys at the management API (decisions, 23): a key with the scope of the required permission reads about its own gateway, from
// where the gateway's own rules would admit it.

import type { AuthCredentials, Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import { clientAddress } from '../http/addresses.ts';
import { admittingOf, checkRules } from '../identity/gateway-rules.ts';
import { OwnerCache } from '../identity/owner-cache.ts';
import { GATEWAY_KEY_PREFIX, hashKey, MAX_KEY_LENGTH } from '../secrets/tokens.ts';
import type { Recorder } from '../store/recorder.ts';
import { STALE_MS } from '../store/staleness.ts';
import type { AuthRow, LiveKey, Store } from '../store/store.ts';

interface Parts {
	config: Config;
	store: Store;
	recorder: Recorder;
}

/** The size of the largest page; a gateway has few methods. */
const ALL = { limit: 100 };

/** Returns the key of a gateway in the request; null when there is none, or the route accepts none. */
export function gatewayKeyIn({ route, raw: { req } }: Request): string | null {
	if (!route.settings.plugins?.gatehouse?.gatewayKeys) return null;
	const { authorization, 'x-api-key': header } = req.headers;
	const secret = authorization === undefined ? header?.toString() : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
	return secret?.startsWith(GATEWAY_KEY_PREFIX) ? secret : null;
}

/** A live key, and the methods of its gateway, whose rules hold for it. */
export interface Reader {
	key: LiveKey;
	methods: readonly AuthRow[];
}

export class GatewayReaders {
	readonly #parts: Parts;
	/** Readers by gateway and hash of the key. An invalid key is looked up each time: its gateway may be active by then. */
	readonly #known: OwnerCache<Reader>;

	constructor(parts: Parts) {
		this.#parts = parts;
		const ownerOf = ({ key }: Reader): string => key.organization.id;
		this.#known = new OwnerCache(parts.store.changes, { owners: 'org', ownerOf, keepsNobody: false });
	}

	/** Looks a key up, at most a second behind any change. @throws unauthorized when it is no live key of the gateway in the path */
	async identify(secret: string, request: Request): Promise<Reader> {
		const news = this.#parts.store.changes.fresh(STALE_MS);
		if (news) await news;
		const reader = secret.length <= MAX_KEY_LENGTH ? await this.#find(gatewayIn(request), hashKey(secret)) : null;
		if (!reader || hasExpired(reader.key))
			throw new GatewayError('unauthorized', 'The key does not belong to this gateway, or is no longer valid.');
		return reader;
	}

	/** Returns the credentials of an admitted key. @throws forbidden, insufficient_scope */
	credentialsOf({ key: { id, scopes, organization }, methods }: Reader, request: Request): AuthCredentials {
		assertRules(request, methods, this.#parts.config);
		const need = request.route.settings.plugins?.gatehouse?.need;
		if (!scopes.some((scope) => scope === need)) throw new GatewayError('insufficient_scope', `The key does not have the scope ${need}.`);
		this.#parts.recorder.used(organization.id, id);
		return { organization, role: null, permissions: new Set(scopes), login: null, actor: null };
	}

	close(): void {
		this.#known.close();
	}

	#find(gatewayId: string, hash: Buffer): Promise<Reader | null> {
		const { gateways } = this.#parts.store;
		const id = `${gatewayId} ${hash.toString('latin1')}`;
		const look = async (): Promise<Reader | null> => {
			const key = await gateways.liveKey(gatewayId, hash);
			return key && { key, methods: (await gateways.auth(key.organization.id, gatewayId, ALL)).items };
		};
		return this.#known.get(id) ?? this.#known.add(id, { look });
	}
}

const hasExpired = ({ expiresAt }: LiveKey): boolean => expiresAt !== null && expiresAt.getTime() <= Date.now();

const gatewayIn = ({ params }: Request): string => String(params['id']);

/** Checks the rules of the gateway's admitting methods, one of which must let the client in. */
function assertRules({ info, raw: { req } }: Request, methods: readonly AuthRow[], { trustProxy }: Config): void {
	// Node joins repeated headers; only set-cookie, which no request carries, would be a list.
	const headers = req.headers as Record<string, string | undefined>;
	const client = { address: clientAddress(info.remoteAddress, headers['x-forwarded-for'], trustProxy), headers };
	const faults = admittingOf(methods).map(({ validationRules }) => faultOf(() => checkRules(client, validationRules)));
	const [first] = faults;
	if (first && !faults.includes(null)) throw first;
}

function faultOf(check: () => void): GatewayError | null {
	try {
		check();
		return null;
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (error) return error;
		throw thrown;
	}
}
