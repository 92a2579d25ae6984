// The subjects that windows count by: names of callers, and addresses.

import { createHash } from 'node:crypto';
import { bucketAddress } from '../http/addresses.ts';

const LONGEST_SUBJECT = 100;

/** Names a subject. Others choose some of them, so the length of keys must be bounded. */
export function named<Subject extends string | null>(subject: Subject): Subject | string {
	if (subject === null || subject.length <= LONGEST_SUBJECT) return subject;
	return `hash:${createHash('sha256').update(subject).digest('base64url')}`;
}

/** Makes a subject of an address, which no name can equal. */
export const asSubject = (address: string): string => `@${bucketAddress(address)}`;
