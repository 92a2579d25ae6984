// AES-256-GCM envelopes (specification 5.2 rule 9). The place of a secret is its associated data, so that a ciphertext
// copied to another row does not open.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { GatewayError } from './errors.ts';

/** Where a secret lies. */
export interface Place {
	organizationId: string;
	table: string;
	row: string;
}

export interface Secrets {
	/** `v1.<key id>.<nonce>.<ciphertext and tag>`, base64url. */
	seal(plain: string, place: Place): string;
	/** @throws internal when the envelope is of another place or key, or was altered */
	open(envelope: string, place: Place): string;
	isSealed(value: unknown): value is string;
}

const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENVELOPE = /^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]{22,}$/;

/** @param encryptionKey 64 hexadecimal characters */
export function createSecrets(encryptionKey: string): Secrets {
	const key = Buffer.from(encryptionKey, 'hex');
	const keyId = createHash('sha256').update('key id').update(key).digest('hex').slice(0, 8);

	return {
		seal(plain, place) {
			const nonce = randomBytes(NONCE_BYTES);
			const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associated(keyId, place));
			const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
			return [VERSION, keyId, nonce.toString('base64url'), sealed.toString('base64url')].join('.');
		},
		open(envelope, place) {
			const [, id = '', nonce = '', body = ''] = envelope.split('.');
			if (id !== keyId) throw new GatewayError('internal', `A stored secret was sealed with another ENCRYPTION_KEY (id ${id}).`);
			const sealed = Buffer.from(body, 'base64url');
			const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: TAG_BYTES });
			decipher.setAAD(associated(keyId, place)).setAuthTag(sealed.subarray(-TAG_BYTES));
			try {
				return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
			} catch (cause) {
				throw new GatewayError('internal', 'A stored secret does not belong where it was found.', { cause });
			}
		},
		isSealed: (value): value is string => typeof value === 'string' && ENVELOPE.test(value),
	};
}

function associated(keyId: string, place: Place): Buffer {
	return Buffer.from(JSON.stringify([VERSION, keyId, place.organizationId, place.table, place.row]));
}
