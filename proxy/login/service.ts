// The owner of a credential, and its end, by the management API.

import { listOrganizations, type Organization } from '../gateway/organization.ts';
import { ask, PATIENCE_MS } from '../gateway/requests.ts';
import { isObject } from '../wire/messages.ts';

export interface Person {
	/** Null for a key that may not read the profile, such as one for a single gateway. */
	email: string | null;
	organizations: Organization[];
}

/** Reads whose a credential is. @throws Refusal for one that is not valid */
export async function personOf(serviceUrl: string, token: string): Promise<Person> {
	const answer = await ask(serviceUrl, '/auth/profile', { token });
	if (answer.status === 403) return { email: null, organizations: [] };
	const { data } = answer.body;
	if (answer.status !== 200 || !isObject(data)) throw answer.refusal();
	const organizations = await listOrganizations(serviceUrl, token, AbortSignal.timeout(PATIENCE_MS));
	return { email: typeof data['email'] === 'string' ? data['email'] : null, organizations };
}

/** Ends an access key by itself. @throws Refusal */
export async function revoke(serviceUrl: string, token: string): Promise<void> {
	const answer = await ask(serviceUrl, '/device/revoke', { form: { token, token_type_hint: 'access_token' } });
	if (answer.status !== 200) throw answer.refusal();
}
