// Signatures of webhooks that start agents: Standard Webhooks 1.0.0, and the plain HMAC of the body that GitHub sends.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type AgentWebhookRow, GatewayError } from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;
const MAX_ID = 255;
const PLAIN_HEADERS = ['x-hub-signature-256', 'x-signature-256'];

export const newSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

/** Returns the fault of a secret that a sender chose, as the end of a sentence; null if there is none. */
export function secretFault(secret: string): string | null {
	if (!secret.startsWith(PREFIX)) return secret.length >= 16 ? null : 'must have 16 characters at least';
	const text = secret.slice(PREFIX.length);
	const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64').length : 0;
	return bytes >= 24 && bytes <= 64 ? null : `must hold 24 to 64 bytes in base64 after ${PREFIX}`;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const header = (headers: Headers, name: string): string => headers[name]?.toString() ?? '';

const refused = (message: string): GatewayError => new GatewayError('unauthorized', message);

/**
 * Verifies a webhook. @returns the identity of the message: what is sent under it again is the same message
 * @throws unauthorized
 */
export function verify(
	{ scheme }: Pick<AgentWebhookRow, 'scheme'>,
	secret: string,
	{ headers, content }: { headers: Headers; content: Buffer },
): string {
	return scheme === 'standard' ? verifyStandard(secret, headers, content) : verifyPlain(secret, headers, content);
}

function verifyStandard(secret: string, headers: Headers, content: Buffer): string {
	const [id, seconds, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => header(headers, name)) as [
		string,
		string,
		string,
	];
	if (id === '' || id.length > MAX_ID || !/^\d{1,12}$/.test(seconds) || given === '')
		throw refused('The headers webhook-id, webhook-timestamp and webhook-signature are required.');
	const key = secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);
	const expected = createHmac('sha256', key).update(`${id}.${seconds}.`).update(content).digest();
	// "space delimited list of signatures"
	const isSigned = given.split(' ').some((one) => one.startsWith('v1,') && isEqual(Buffer.from(one.slice(3), 'base64'), expected));
	if (!isSigned) throw refused('The signature does not match the body and the secret.');
	if (Math.abs(Date.now() - Number(seconds) * 1000) > BOUNDS.skewMs)
		throw refused('webhook-timestamp is too far from the time of this service.');
	return `id:${id}`;
}

/** The plain scheme signs neither a time nor an id, so the message is its body: a captured one that is sent again is the same message. */
function verifyPlain(secret: string, headers: Headers, content: Buffer): string {
	const given = PLAIN_HEADERS.map((name) => header(headers, name)).find((one) => one !== '') ?? '';
	const [, hex = ''] = /^sha256=([0-9a-f]{64})$/i.exec(given) ?? [];
	if (hex === '') throw refused(`The header ${PLAIN_HEADERS[0]} with sha256=<hex> is required.`);
	const expected = createHmac('sha256', secret).update(content).digest();
	if (!isEqual(Buffer.from(hex, 'hex'), expected)) throw refused('The signature does not match the body and the secret.');
	return `body:${expected.toString('hex')}`;
}

const isEqual = (given: Buffer, expected: Buffer): boolean => given.length === expected.length && timingSafeEqual(given, expected);
