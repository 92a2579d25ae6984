// Lost updates: who changes a row may say which version of it they have seen.

import { GatewayError } from '../core/contract/errors.ts';

/** A condition for `where`. */
export const ofVersion = (ifVersion: number | undefined): { version?: number } => (ifVersion === undefined ? {} : { version: ifVersion });

/** The row, or null when there is none. @throws precondition_failed when it is there in another version */
export function assertVersion<R extends { version: number }>(row: R | null, ifVersion: number | undefined): R | null {
	if (row === null || ifVersion === undefined || row.version === ifVersion) return row;
	throw new GatewayError('precondition_failed', 'It has been changed since the version that If-Match names: read it again first.');
}
