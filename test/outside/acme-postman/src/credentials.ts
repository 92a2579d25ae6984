// The credentials that a collection describes, without their values.

import { type CredentialPreset, isObject, type JsonObject } from 'gatehouse';
import { listOf } from './index.ts';

type Preset = Omit<CredentialPreset, 'scheme'>;

const KINDS: Readonly<Record<string, (of: (key: string) => string) => Preset>> = {
	bearer: () => ({ type: 'bearer_token', credentials: {} }),
	basic: () => ({ type: 'basic_auth', credentials: {} }),
	apikey: (of) => ({ type: 'api_key', credentials: { name: of('key') || 'X-API-Key', in: of('in') === 'query' ? 'query' : 'header' } }),
	oauth2: (of) => ({ type: 'oauth2', credentials: { ...(URL.canParse(of('accessTokenUrl')) && { tokenUrl: of('accessTokenUrl') }) } }),
};

/** Returns the credential of the whole collection; those of single requests are left to the owner. */
export function credentialsOf({ auth }: JsonObject): CredentialPreset[] {
	const type = isObject(auth) ? String(auth['type']) : '';
	const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
	if (!isObject(auth) || !kind) return [];
	const attributes = listOf(auth[type]);
	const of = (key: string): string => String(attributes.find((one) => one['key'] === key)?.['value'] ?? '');
	return [{ scheme: type, ...kind(of) }];
}
