// The details of a failed status, which are messages of any type.

import { fromBinary, type Message, toJson } from '@bufbuild/protobuf';
import type { Json } from '../../../core/index.ts';
import { type AnyTypes, wrapUnknown } from './any.ts';
import { RPC_FILES } from './omitted-files.ts';

const MAX_DETAILS = 10;
/** The detail that holds stack traces of the server. */
const DEBUG_INFO = 'type.googleapis.com/google.rpc.DebugInfo';

/** @param bytes a google.rpc.Status; what a server sent instead of one has no details. @returns a text for each detail, for the first ten */
export function detailsIn(bytes: Uint8Array, types: AnyTypes): string[] {
	const told = readDetails(bytes, types).filter((detail) => detail['@type'] !== DEBUG_INFO);
	const shown = told.slice(0, MAX_DETAILS).map((detail) => JSON.stringify(detail));
	return told.length > MAX_DETAILS ? [...shown, `… and ${told.length - MAX_DETAILS} more details.`] : shown;
}

function readDetails(bytes: Uint8Array, types: AnyTypes): { [key: string]: Json }[] {
	const desc = RPC_FILES.getMessage('google.rpc.Status');
	if (desc === undefined) return [];
	try {
		const message: Message = fromBinary(desc, bytes);
		wrapUnknown(desc, message, types);
		const { details } = toJson(desc, message, { registry: types.registry }) as { details?: { [key: string]: Json }[] };
		return details ?? [];
	} catch {
		// Code and message are still a result without them.
		return [];
	}
}
