// Prevents lost updates: a client may name the version of a row that it has read.

import { GatewayError } from '../core/contract/errors.ts';

/** Builds a condition for `where`. */
export const ofVersion = (ifVersion: number | undefined): { version?: number } => (ifVersion === undefined ? {} : { version: ifVersion });

/** Returns the row, or null when there is none. @throws precondition_failed when it exists in another version */
export function assertVersion<R extends { version: number }>(row: R | null, ifVersion: number | undefined): R | null {
	if (row === null || ifVersion === undefined || row.version === ifVersion) return row;
	throw new GatewayError('precondition_failed', 'It has been changed since the version that If-Match names: read it again first.');
}
