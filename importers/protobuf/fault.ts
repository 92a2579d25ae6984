// What is wrong with a whole description.

import { GatewayError } from '../../core/index.ts';

/** @param path of the file, as the fault's place */
export function refused(message: string, path = ''): GatewayError {
	return new GatewayError('schema_invalid', message, { details: [{ path, message }] });
}
