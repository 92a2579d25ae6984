// Makes secrets, and the digests that are stored of them.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Makes a secret of 256 random bits. */
export const mintSecret = (): string => randomBytes(32).toString('base64url');

/** Makes an id of 128 random bits: unique, not secret. */
export const mintId = (): string => randomBytes(16).toString('base64url');

/** Hashes a secret for storage, or a name of any length for a key. SHA-256, base64url. */
export const digest = (value: string): string => hash('sha256', value, 'base64url');

/** Compares two digests in constant time. */
export const isSame = (one: string, other: string): boolean =>
	one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
