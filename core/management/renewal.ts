// Writes the config of a row in the version of its plugin along with a user's change of the row.

import { asGatewayError } from '../contract/errors.ts';

interface Versions {
	/** The version of the row as it was read. */
	version: number;
	/** The version that the client requires. */
	expected: number | undefined;
}

/**
 * Updates a row with the change and the renewed columns; with the change alone if the row was changed since it was read, since another
 * request may have written a newer config. @param renewed null when there is nothing to renew
 */
export async function updateRenewed<Change extends object, Row>(
	change: Change,
	renewed: Partial<Change> | null,
	{ version, expected }: Versions,
	update: (values: Change, ifVersion: number | undefined) => Promise<Row>,
): Promise<Row> {
	if (renewed === null || (expected ?? version) !== version) return update(change, expected);
	try {
		return await update({ ...renewed, ...change }, version);
	} catch (error) {
		if (expected !== undefined || asGatewayError(error)?.code !== 'precondition_failed') throw error;
		return update(change, expected);
	}
}
