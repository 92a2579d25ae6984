// The error of a description that is refused as a whole.

import { GatewayError } from '../../core/index.ts';

/** @param path path of the file, reported with the fault */
export function refused(message: string, path = ''): GatewayError {
	return new GatewayError('schema_invalid', message, { details: [{ path, message }] });
}
