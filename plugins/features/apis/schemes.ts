// The security schemes that an API's description names, and the types of credentials that fit them.

import {
	type ApiRow,
	type Core,
	type CredentialPreset,
	invalid,
	type Json,
	type JsonObject,
	MAX_PRESETS,
	quote,
} from '../../../core/features.ts';

const MAX_NAMED = 20;

interface SchemeCredentials {
	type: string;
	scheme: string;
	credentials: JsonObject;
}

/** Checks the scheme of a credential. Before the first import every name is accepted, since it may exist. @throws validation_failed */
export async function assertScheme(given: SchemeCredentials, { organizationId, id }: ApiRow, { store }: Core): Promise<void> {
	const { items } = await store.apis.schemas(organizationId, id, { limit: 1, sort: '-createdAt' });
	const [last] = items;
	if (!last) return;
	const known = presetsIn(last.report);
	const fitting = known.filter(({ scheme }) => scheme === given.scheme);
	// A report lists a limited number of schemes, so further ones are accepted unchecked.
	if (fitting.length === 0 && known.length >= MAX_PRESETS) return;
	if (fitting.length === 0) throw unknownScheme(known);
	if (!fitting.some((preset) => typesOf(preset).includes(given.type)))
		throw invalid('/type', `"type" must be ${typesOf(fitting[0]).join(' or ')}: the scheme ${quote(given.scheme)} requires it.`);
	if (given.type === 'api_key') assertKeyLocation(given, fitting);
}

function presetsIn({ credentials }: JsonObject): CredentialPreset[] {
	// The value has the form that the import stored.
	return (Array.isArray(credentials) ? credentials : []) as unknown as CredentialPreset[];
}

/** The types that a scheme accepts. A token obtained by hand is accepted for an OAuth scheme too. */
const typesOf = (preset: CredentialPreset | undefined): string[] =>
	preset?.type === 'oauth2' ? ['oauth2', 'bearer_token'] : preset ? [preset.type] : [];

function unknownScheme(known: readonly CredentialPreset[]): Error {
	const names = known.slice(0, MAX_NAMED).map(({ scheme }) => quote(scheme));
	const more = known.length > MAX_NAMED ? ` and ${known.length - MAX_NAMED} more` : '';
	const there = names.length > 0 ? `must be one of ${names.join(', ')}${more}` : 'must be left out: the description has none';
	return invalid('/scheme', `"scheme" ${there}. It names a security scheme of the API’s last imported description.`);
}

function assertKeyLocation({ scheme, credentials }: SchemeCredentials, fitting: readonly CredentialPreset[]): void {
	if (fitting.some(({ credentials: { in: location, name } }) => location === credentials['in'] && isName(name, credentials))) return;
	const at = fitting[0]?.credentials ?? {};
	const expected = `${quote(String(at['name']))} in ${String(at['in'])}`;
	throw invalid('/credentials/name', `"credentials.name" and "credentials.in" must be those of the scheme ${quote(scheme)}: ${expected}.`);
}

const isName = (name: Json | undefined, { name: given, in: location }: JsonObject): boolean =>
	name === given || (location === 'header' && String(name).toLowerCase() === String(given).toLowerCase());
