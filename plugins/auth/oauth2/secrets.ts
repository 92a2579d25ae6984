// Values that only their holder knows, and what is kept of them.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 random bits. */
export const mintSecret = (): string => randomBytes(32).toString('base64url');

/** 128 random bits: to be unique, not secret. */
export const mintId = (): string => randomBytes(16).toString('base64url');

/** What is stored in place of a secret, or where a name may be as long as somebody likes. SHA-256, base64url. */
export const digest = (value: string): string => hash('sha256', value, 'base64url');

/** In a time that tells nothing of what is equal. Both are digests. */
export const isSame = (one: string, other: string): boolean =>
	one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
