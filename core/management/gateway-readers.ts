// Keys of gateways at the management API (decisions, 23): with the scope of that name they read what is said of their own gateway, where
// the gateway's own rules would let them in.

import type { AuthCredentials, Request } from '@hapi/hapi';
import type { Config } from '../config/config.ts';
import { asGatewayError, GatewayError } from '../contract/errors.ts';
import { clientAddress } from '../http/addresses.ts';
import { admittingOf, checkRules } from '../identity/gateway-rules.ts';
import type { Limits } from '../limits/limits.ts';
import { GATEWAY_KEY_PREFIX, hashKey, MAX_KEY_LENGTH } from '../secrets/tokens.ts';
import type { Recorder } from '../store/recorder.ts';
import type { AuthRow, LiveKey, Store } from '../store/store.ts';

interface Parts {
	config: Config;
	store: Store;
	recorder: Recorder;
	limits: Limits;
}

/** The most that one page holds; a gateway has few methods. */
const ALL = { limit: 100 };

/** Null where there is none, or the route takes none. */
export function gatewayKeyIn({ route, raw: { req } }: Request): string | null {
	if (!route.settings.plugins?.gatehouse?.gatewayKeys) return null;
	const { authorization, 'x-api-key': header } = req.headers;
	const secret = authorization === undefined ? header?.toString() : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
	return secret?.startsWith(GATEWAY_KEY_PREFIX) ? secret : null;
}

/** @throws unauthorized where it is no live key of the gateway in the path */
export async function identifyKey(secret: string, request: Request, { store }: Pick<Parts, 'store'>): Promise<LiveKey> {
	const key = secret.length <= MAX_KEY_LENGTH ? await store.gateways.liveKey(gatewayIn(request), hashKey(secret)) : null;
	if (!key) throw new GatewayError('unauthorized', 'The key is none of this gateway, or is good no longer.');
	return key;
}

/** What the key may see. @throws rate_limited, forbidden, insufficient_scope */
export async function admitKey({ id, scopes, organization }: LiveKey, request: Request, parts: Parts): Promise<AuthCredentials> {
	await parts.limits.ofKey(request, id);
	const { items } = await parts.store.gateways.auth(organization.id, gatewayIn(request), ALL);
	assertRules(request, items, parts.config);
	const need = request.route.settings.plugins?.gatehouse?.need;
	const permissions = new Set(scopes);
	if (!scopes.some((scope) => scope === need)) throw new GatewayError('insufficient_scope', `The key does not have the scope ${need}.`);
	parts.recorder.used(organization.id, id);
	return { organization, role: null, permissions, login: null, actor: null };
}

const gatewayIn = ({ params }: Request): string => String(params['id']);

/** Those of one of the methods that admit at the gateway. */
function assertRules({ info, raw: { req } }: Request, methods: readonly AuthRow[], { trustProxy }: Config): void {
	// Node joins what repeats; only set-cookie, which no request carries, would be a list.
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
