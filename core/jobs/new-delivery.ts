// Checks a webhook that a plugin sends, whose parts often come from a client.

import { GatewayError, invalid } from '../contract/errors.ts';
import type { DeliverySign, NewDelivery } from '../contract/jobs.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { headerNameFault, headerValueFault } from '../egress/headers.ts';
import { measureJson } from '../kit/json.ts';
import { PLAIN_HEADER, secretFault } from './signatures.ts';

const MAX_BODY_CHARS = 256 * 1024;
const MAX_HEADERS = 32;
const MAX_HEADER_CHARS = 8 * 1024;
const MAX_URL_CHARS = 2048;
const MAX_EVENT_CHARS = 200;
const ATTEMPTS = 8;
const MOST_ATTEMPTS = 12;
const SCHEMES: readonly DeliverySign['scheme'][] = ['standard', 'sha256', 'both', undefined];
/** Headers that core sets. */
const OURS = /^webhook-/i;

/** A checked webhook, which is kept encrypted. */
export interface Letter {
	url: string;
	body: string;
	headers: Record<string, string>;
	sign: DeliverySign | null;
	attempts: number;
}

/** @throws validation_failed */
export function letterOf({ url, body, headers = {}, event, sign, attempts = ATTEMPTS }: NewDelivery): Letter {
	if (typeof url !== 'string' || url.length > MAX_URL_CHARS)
		throw invalid('/url', `url must be a text of at most ${MAX_URL_CHARS} characters`);
	if (!Number.isInteger(attempts) || attempts < 1 || attempts > MOST_ATTEMPTS)
		throw invalid('/attempts', `attempts must be 1 to ${MOST_ATTEMPTS}`);
	const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
	return {
		...{ url, attempts, body: textOf(body) },
		headers: { 'content-type': type, ...checkedHeaders(headers), ...(event !== undefined && { 'webhook-event': checkedEvent(event) }) },
		sign: sign ? checkedSign(sign) : null,
	};
}

/** A letter is stored as JSON. */
export const storedLetter = (letter: Letter): JsonObject => JSON.parse(JSON.stringify(letter));
/** @param stored as `storedLetter` wrote it, and the envelope kept it */
export const toLetter = (stored: JsonObject): Letter => stored as unknown as Letter;

function textOf(body: NewDelivery['body']): string {
	const { fault, chars } = measureJson(body, MAX_BODY_CHARS);
	if (fault !== null) throw invalid('/body', `body must be JSON: it ${fault}`);
	if (chars > MAX_BODY_CHARS) throw new GatewayError('payload_too_large', `body must have at most ${MAX_BODY_CHARS} characters.`);
	return typeof body === 'string' ? body : JSON.stringify(body);
}

function checkedHeaders(headers: Record<string, string>): Record<string, string> {
	const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
	const chars = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
	if (entries.length > MAX_HEADERS || chars > MAX_HEADER_CHARS)
		throw invalid('/headers', `headers must be at most ${MAX_HEADERS}, of ${MAX_HEADER_CHARS} characters together`);
	for (const [name, value] of entries) {
		const fault = OURS.test(name) ? 'is set by the gateway itself and cannot be given' : (headerNameFault(name) ?? headerValueFault(value));
		if (fault !== null) throw invalid('/headers', `the header ${JSON.stringify(name.slice(0, 100))} ${fault}`);
	}
	return Object.fromEntries(entries);
}

function checkedEvent(event: string): string {
	const fault = event.length > MAX_EVENT_CHARS ? `must have at most ${MAX_EVENT_CHARS} characters` : headerValueFault(event);
	if (fault !== null) throw invalid('/event', `event ${fault}`);
	return event;
}

function checkedSign({ secret, scheme, header = PLAIN_HEADER }: DeliverySign): DeliverySign {
	const fault = typeof secret === 'string' ? secretFault(secret) : 'must be a text';
	if (fault !== null) throw invalid('/sign/secret', `secret ${fault}`);
	if (!SCHEMES.includes(scheme)) throw invalid('/sign/scheme', 'scheme must be standard, sha256 or both');
	const wrong = OURS.test(header) ? 'is set by the gateway itself' : headerNameFault(header);
	if (wrong !== null) throw invalid('/sign/header', `header ${wrong}`);
	return { secret, header, ...(scheme && { scheme }) };
}
