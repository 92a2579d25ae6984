// Requests of the management API, for the commands.

import { listOrganizations, type Organization } from '../gateway/organization.ts';
import { type Refusal, refusalOf, unreachable } from '../gateway/refusals.ts';
import { VERSION } from '../version.ts';
import { isObject, type JsonObject } from '../wire/messages.ts';

const PATIENCE_MS = 15_000;

export interface Answer {
	status: number;
	body: JsonObject;
	/** The refusal that the answer would be, if it is none that was expected. */
	refusal(): Refusal;
}

/** Sends a form, or reads. Redirects are not followed. @throws Refusal where the service cannot be reached */
export async function ask(
	serviceUrl: string,
	path: string,
	{ form, token }: { form?: Record<string, string>; token?: string } = {},
): Promise<Answer> {
	const url = serviceUrl + path;
	const headers = {
		accept: 'application/json',
		'user-agent': `gatehouse-proxy/${VERSION}`,
		...(token && { authorization: `Bearer ${token}` }),
	};
	const signal = AbortSignal.timeout(PATIENCE_MS);
	const init: RequestInit = { headers, signal, redirect: 'manual', ...(form && { method: 'POST', body: new URLSearchParams(form) }) };
	try {
		const response = await fetch(url, init);
		const text = await response.text();
		return { status: response.status, body: parse(text), refusal: () => refusalOf(response, text, url) };
	} catch (error) {
		throw unreachable(error, url);
	}
}

function parse(text: string): JsonObject {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? value : {};
	} catch {
		return {};
	}
}

export interface Person {
	/** Null for a key that may not read the profile, such as one for a single gateway. */
	email: string | null;
	organizations: Organization[];
}

/** Reads whose a credential is. @throws Refusal for one that is not valid */
export async function personOf(serviceUrl: string, token: string): Promise<Person> {
	const answer = await ask(serviceUrl, '/auth/profile', { token });
	if (answer.status === 403) return { email: null, organizations: [] };
	if (answer.status !== 200) throw answer.refusal();
	const { data } = answer.body;
	const organizations = await listOrganizations(serviceUrl, token, AbortSignal.timeout(PATIENCE_MS));
	return { email: isObject(data) && typeof data['email'] === 'string' ? data['email'] : null, organizations };
}

/** Ends an access key by itself. @throws Refusal */
export async function revoke(serviceUrl: string, token: string): Promise<void> {
	const answer = await ask(serviceUrl, '/device/revoke', { form: { token, token_type_hint: 'access_token' } });
	if (answer.status !== 200) throw answer.refusal();
}
