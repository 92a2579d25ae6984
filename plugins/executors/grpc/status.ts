// What went wrong, as a result that a model can read: name of the code, message, and details (google.rpc.Status).

import { fromBinary, type Message, toJson } from '@bufbuild/protobuf';
import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { excerptOf, GatewayError, type Json, type ToolResult } from '../../../core/index.ts';
import { wrapUnknown } from './any.ts';
import type { Place } from './channels.ts';
import type { Codec } from './codec.ts';
import type { GrpcConfig } from './config.ts';
import { isSmall } from './decoding.ts';
import type { Outcome } from './exchange.ts';
import { RPC_FILES } from './known-files.ts';

const DETAILS = 'grpc-status-details-bin';
const MAX_DETAILS = 10;
const MAX_MESSAGE_CHARS = 1000;
const MAX_TYPE_CHARS = 100;
const MAX_DETAIL_CHARS = 1000;
/** Stack traces of the server. */
const DEBUG_INFO = 'type.googleapis.com/google.rpc.DebugInfo';

interface Failing {
	config: Pick<GrpcConfig, 'timeoutMs'>;
	place: Place;
	codec: Codec;
	/** What must not be shown. */
	secrets: readonly string[];
}

/** @throws upstream_timeout, upstream_failed where the server did not answer */
export function failedCall(
	{ status, answered, foreignType, tookMs }: Outcome,
	{ config: { timeoutMs }, place, codec, secrets }: Failing,
): ToolResult {
	if (status.code === Status.DEADLINE_EXCEEDED && tookMs >= timeoutMs - 50)
		throw new GatewayError('upstream_timeout', `${place.host} did not answer within ${timeoutMs / 1000} s.`);
	if (!answered && status.code === Status.UNAVAILABLE)
		throw new GatewayError('upstream_failed', `${place.host} could not be reached by gRPC: ${reasonIn(status.details)}.`, {
			cause: status,
		});
	if (foreignType !== null) {
		const type = JSON.stringify(excerptOf(foreignType, MAX_TYPE_CHARS, secrets));
		throw new GatewayError('upstream_failed', `${place.host} does not speak gRPC here: its answer is of the type ${type}.`);
	}
	const message = excerptOf(status.details, MAX_MESSAGE_CHARS, secrets);
	const lines = [`${Status[status.code]} (${status.code})${message === '' ? '' : `: ${message}`}`, ...detailsOf(status, codec, secrets)];
	return { content: [{ type: 'text', text: lines.join('\n') }], isError: true };
}

/** The library's words hold addresses that are nobody's business. */
function reasonIn(said: string): string {
	if (/ECONNREFUSED/.test(said)) return 'it refuses connections';
	if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(said)) return 'it cannot be reached on its address';
	if (/certificate|altnames|self[- ]signed|CERT_|issuer/i.test(said)) return 'its certificate is not trusted, or is for another name';
	if (/wrong version number|SSL|TLS|EPROTO/i.test(said)) return 'it does not speak TLS';
	if (/ECONNRESET|dropped|closed|EPIPE|GOAWAY/i.test(said)) return 'it closed the connection';
	return 'there is no connection';
}

/** Of what is too large to be read here, and to be of use, there are none. */
function detailsOf({ metadata }: StatusObject, codec: Codec, secrets: readonly string[]): string[] {
	const { types } = codec;
	const [bytes] = metadata.get(DETAILS);
	const desc = RPC_FILES.getMessage('google.rpc.Status');
	if (!Buffer.isBuffer(bytes) || desc === undefined || !isSmall(bytes.length, codec)) return [];
	try {
		const message: Message = fromBinary(desc, bytes);
		wrapUnknown(desc, message, types);
		const { details } = toJson(desc, message, { registry: types.registry }) as { details?: { [key: string]: Json }[] };
		const told = (details ?? []).filter((detail) => detail['@type'] !== DEBUG_INFO);
		const shown = told.slice(0, MAX_DETAILS).map((detail) => excerptOf(JSON.stringify(detail), MAX_DETAIL_CHARS, secrets));
		return told.length > MAX_DETAILS ? [...shown, `… and ${told.length - MAX_DETAILS} more details.`] : shown;
	} catch {
		// They are the server's own bytes; code and message stand for themselves.
		return [];
	}
}
