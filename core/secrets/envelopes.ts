// AES-256-GCM envelopes (specification 5.2 rule 9). The place of a secret is its associated data, so that a ciphertext
// copied to another row does not open.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { GatewayError } from '../contract/errors.ts';
import type { Log } from '../contract/nouns.ts';

/** Where a secret lies. */
export interface Place {
	organizationId: string;
	table: string;
	row: string;
}

export interface Secrets {
	/** `v1.<key id>.<nonce>.<ciphertext and tag>`, base64url. */
	seal(plain: string, place: Place): string;
	/**
	 * @param what it is, in the words of who can enter it again: `The credential "api_key" of the API "Pets"`
	 * @throws secret_unreadable when the envelope is of another place or key, or was altered
	 */
	open(envelope: string, place: Place, what: string): string;
	/** Whether it begins as an envelope does: one that was cut off must not be taken for a secret that was never sealed. */
	isSealed(value: unknown): value is string;
}

const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENVELOPE = /^v1\.[0-9a-f]{8}\./;

/**
 * @param encryptionKey 64 hexadecimal characters
 * @param log is told where a secret lies that does not open, and why: those who are refused are told neither
 */
export function createSecrets(encryptionKey: string, log?: Pick<Log, 'warn'>): Secrets {
	const key = Buffer.from(encryptionKey, 'hex');
	const keyId = createHash('sha256').update('key id').update(key).digest('hex').slice(0, 8);

	/** @throws Error, ours or Node's, whatever is wrong with it */
	const opened = (envelope: string, place: Place): string => {
		const [version, id, nonce = '', body = ''] = envelope.split('.');
		if (version !== VERSION || id !== keyId) throw new Error('It was not sealed with this key.');
		const sealed = Buffer.from(body, 'base64url');
		const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), { authTagLength: TAG_BYTES });
		decipher.setAAD(associated(keyId, place)).setAuthTag(sealed.subarray(-TAG_BYTES));
		return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
	};

	return {
		seal(plain, place) {
			const nonce = randomBytes(NONCE_BYTES);
			const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associated(keyId, place));
			const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
			return [VERSION, keyId, nonce.toString('base64url'), sealed.toString('base64url')].join('.');
		},
		open(envelope, place, what) {
			try {
				return opened(envelope, place);
			} catch (cause) {
				log?.warn({ ...place, reason: reasonOf(envelope, keyId) }, 'a stored secret cannot be opened');
				throw new GatewayError('secret_unreadable', `${what} could not be read: enter it again.`, { cause });
			}
		},
		isSealed: (value): value is string => typeof value === 'string' && ENVELOPE.test(value),
	};
}

function reasonOf(envelope: string, keyId: string): string {
	const [, id = ''] = envelope.split('.');
	if (ENVELOPE.test(envelope) && id !== keyId) return `it was sealed with another ENCRYPTION_KEY (id ${id})`;
	return 'it was altered, or belongs elsewhere';
}

function associated(keyId: string, place: Place): Buffer {
	return Buffer.from(JSON.stringify([VERSION, keyId, place.organizationId, place.table, place.row]));
}
