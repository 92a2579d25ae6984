// Requests of the management API.

import { VERSION } from '../version.ts';
import { isObject, type JsonObject } from '../wire/messages.ts';
import { howToLogIn, type Refusal, refusalOf, unreachable } from './refusals.ts';

export const PATIENCE_MS = 15_000;

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
	{ form, token, signal = AbortSignal.timeout(PATIENCE_MS) }: { form?: Record<string, string>; token?: string; signal?: AbortSignal } = {},
): Promise<Answer> {
	const url = serviceUrl + path;
	const headers = {
		accept: 'application/json',
		'user-agent': `gatehouse-proxy/${VERSION}`,
		...(token && { authorization: `Bearer ${token}` }),
	};
	const init: RequestInit = { headers, signal, redirect: 'manual', ...(form && { method: 'POST', body: new URLSearchParams(form) }) };
	try {
		const response = await fetch(url, init);
		const text = await response.text();
		return {
			status: response.status,
			body: parse(text),
			refusal: () => refusalOf(response, text, { url, advice: howToLogIn(serviceUrl) }),
		};
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
