// AES-256-GCM envelopes (specification 5.2 rule 9). A secret's location is its associated data, so that a ciphertext
// copied to another row does not open.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { GatewayError } from '../contract/errors.ts';
import type { Json, Log } from '../contract/nouns.ts';

/** The row that holds a secret. */
export interface SecretLocation {
	organizationId: string;
	table: string;
	row: string;
}

export interface Secrets {
	/** Encrypts a secret: `v1.<key id>.<nonce>.<ciphertext and tag>`, base64url. */
	seal(plain: string, location: SecretLocation): string;
	/** Encrypts any JSON: a text as `seal` does, anything else as its JSON in an envelope that begins with `v2`. */
	sealJson(plain: Json, location: SecretLocation): string;
	/**
	 * @param what names the secret for the user who can enter it again: `The credential "api_key" of the API "Pets"`
	 * @throws secret_unreadable when the envelope has another location or key, or was altered
	 */
	open(envelope: string, location: SecretLocation, what: string): string;
	/** Opens what `sealJson` or `seal` encrypted. @throws secret_unreadable as `open` */
	openJson(envelope: string, location: SecretLocation, what: string): Json;
	/** Encrypts bytes that would be too many for a text. */
	sealBytes(plain: Buffer, location: SecretLocation): Buffer;
	/** Opens what `sealBytes` encrypted; other bytes are returned unchanged. @throws secret_unreadable as `open` */
	openBytes(bytes: Buffer, location: SecretLocation, what: string): Buffer;
	/** Whether a value starts like an envelope: a truncated one must not be mistaken for a secret that was never sealed. */
	isSealed(value: unknown): value is string;
	/** The id of the key that seals. */
	keyId: string;
	/** Seals anew what a former key sealed. @throws secret_unreadable as `open` */
	renew(envelope: string, location: SecretLocation, what: string): string;
}

/** The version tells what is encrypted, and is authenticated with it. */
const TEXT = 'v1';
const JSON_TEXT = 'v2';
const BYTES = 'b1';
/** The start of sealed bytes: neither a text nor JSON begins with NUL. */
const MAGIC = Buffer.from(`\0${BYTES}.`);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ENVELOPE = /^v[12]\.[0-9a-f]{8}\./;

/** Whether a value starts like an envelope. */
export const isEnvelope = (value: unknown): value is string => typeof value === 'string' && ENVELOPE.test(value);

/** A key, and the id by which envelopes name it. */
interface Key {
	id: string;
	bytes: Buffer;
}

function keyOf(hex: string): Key {
	const bytes = Buffer.from(hex, 'hex');
	return { id: createHash('sha256').update('key id').update(bytes).digest('hex').slice(0, 8), bytes };
}

/**
 * Creates the envelopes. @param encryptionKey 64 hexadecimal characters
 * @param log receives the location of a secret that cannot be opened, and the reason; clients are told neither
 * @param formerKeys open what they sealed, and seal nothing
 */
export function createSecrets(encryptionKey: string, log?: Pick<Log, 'warn'>, formerKeys: readonly string[] = []): Secrets {
	const { id: keyId, bytes: key } = keyOf(encryptionKey);
	const keys = [encryptionKey, ...formerKeys].map(keyOf);

	const decrypted = ({ id, bytes }: Key, sealed: Buffer, nonce: Buffer, location: SecretLocation, version: string): Buffer => {
		const decipher = createDecipheriv('aes-256-gcm', bytes, nonce, { authTagLength: TAG_BYTES });
		decipher.setAAD(associated(version, id, location)).setAuthTag(sealed.subarray(-TAG_BYTES));
		return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
	};

	const encrypted = (plain: Buffer, nonce: Buffer, location: SecretLocation, version: string): Buffer[] => {
		const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associated(version, keyId, location));
		return [cipher.update(plain), cipher.final(), cipher.getAuthTag()];
	};

	/** Opens an envelope of a version. @throws Error, ours or Node's, for any fault */
	const opened = (envelope: string, location: SecretLocation, version: string): string => {
		const [its, id, nonce = '', body = ''] = envelope.split('.');
		const own = keys.find((each) => each.id === id);
		if (its !== version || !own) throw new Error('It was not sealed with this key.');
		return decrypted(own, Buffer.from(body, 'base64url'), Buffer.from(nonce, 'base64url'), location, version).toString('utf8');
	};

	const sealed = (plain: string, location: SecretLocation, version: string): string => {
		const nonce = randomBytes(NONCE_BYTES);
		const body = Buffer.concat(encrypted(Buffer.from(plain), nonce, location, version));
		return [version, keyId, nonce.toString('base64url'), body.toString('base64url')].join('.');
	};

	const unreadable = (reason: string, location: SecretLocation, what: string, cause: unknown): GatewayError => {
		log?.warn({ ...location, reason }, 'a stored secret cannot be opened');
		return new GatewayError('secret_unreadable', `${what} could not be read: enter it again.`, { cause });
	};

	const open = (envelope: string, location: SecretLocation, what: string, version = TEXT): string => {
		try {
			return opened(envelope, location, version);
		} catch (cause) {
			throw unreadable(reasonOf(envelope, keys), location, what, cause);
		}
	};

	return {
		seal: (plain, location) => sealed(plain, location, TEXT),
		sealJson: (plain, location) =>
			typeof plain === 'string' ? sealed(plain, location, TEXT) : sealed(JSON.stringify(plain), location, JSON_TEXT),
		open: (envelope, location, what) => open(envelope, location, what),
		openJson(envelope, location, what) {
			if (!envelope.startsWith(JSON_TEXT)) return open(envelope, location, what);
			return JSON.parse(open(envelope, location, what, JSON_TEXT)) as Json;
		},
		sealBytes(plain, location) {
			const nonce = randomBytes(NONCE_BYTES);
			return Buffer.concat([MAGIC, nonce, ...encrypted(plain, nonce, location, BYTES)]);
		},
		openBytes(bytes, location, what) {
			if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return bytes;
			const rest = bytes.subarray(MAGIC.length);
			let fault: unknown;
			// Bytes do not name their key.
			for (const each of keys)
				try {
					return decrypted(each, rest.subarray(NONCE_BYTES), rest.subarray(0, NONCE_BYTES), location, BYTES);
				} catch (cause) {
					fault = cause;
				}
			throw unreadable('it was sealed with another ENCRYPTION_KEY, was altered, or belongs elsewhere', location, what, fault);
		},
		isSealed: isEnvelope,
		keyId,
		renew(envelope, location, what) {
			const version = envelope.startsWith(JSON_TEXT) ? JSON_TEXT : TEXT;
			return sealed(open(envelope, location, what, version), location, version);
		},
	};
}

function reasonOf(envelope: string, keys: readonly Key[]): string {
	const [, id = ''] = envelope.split('.');
	if (ENVELOPE.test(envelope) && keys.every((key) => key.id !== id)) return `it was sealed with another ENCRYPTION_KEY (id ${id})`;
	return 'it was altered, or belongs elsewhere';
}

function associated(version: string, keyId: string, location: SecretLocation): Buffer {
	return Buffer.from(JSON.stringify([version, keyId, location.organizationId, location.table, location.row]));
}
