// Signatures of webhooks: Standard Webhooks 1.0.0, and the plain one of GitHub's kind.

import { createHmac } from 'node:crypto';
import type { DeliverySign } from '../contract/jobs.ts';

const PREFIX = 'whsec_';
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
export const PLAIN_HEADER = 'x-hub-signature-256';

export interface Message {
	id: string;
	/** The time of the attempt. */
	at: Date;
	body: string;
}

/** Returns the fault of a secret, as the end of a sentence; null if there is none. */
export function secretFault(secret: string): string | null {
	if (secret.length < 16 || secret.length > 512) return 'must have 16 to 512 characters';
	if (!secret.startsWith(PREFIX)) return null;
	const text = secret.slice(PREFIX.length);
	// "Random. Between 24 bytes (192 bits) and 64 bytes (512 bits)"; "base64 encoded, prefixed with `whsec_`".
	const bytes = BASE64.test(text) ? Buffer.from(text, 'base64').length : 0;
	return bytes >= 24 && bytes <= 64 ? null : `must hold 24 to 64 bytes in base64 after ${PREFIX}`;
}

/** Returns the headers that every webhook has, and its signatures. */
export function webhookHeaders(message: Message, sign: DeliverySign | null): Record<string, string> {
	const seconds = String(Math.floor(message.at.getTime() / 1000));
	const headers: Record<string, string> = { 'webhook-id': message.id, 'webhook-timestamp': seconds };
	if (!sign) return headers;
	const { secret, scheme = 'standard', header = PLAIN_HEADER } = sign;
	if (scheme !== 'sha256') headers['webhook-signature'] = `v1,${standard(secret, `${message.id}.${seconds}.${message.body}`)}`;
	if (scheme !== 'standard') headers[header.toLowerCase()] = `sha256=${createHmac('sha256', secret).update(message.body).digest('hex')}`;
	return headers;
}

/** "The content to be signed is therefore: `{msg_id}.{timestamp}.{payload}`." */
const standard = (secret: string, content: string): string => createHmac('sha256', keyOf(secret)).update(content).digest('base64');

const keyOf = (secret: string): Buffer =>
	secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);
