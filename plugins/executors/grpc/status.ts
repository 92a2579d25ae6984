// Turns a status into a result that a model can read: name of the code, message, and details (google.rpc.Status).

import { fromBinary, type Message, toJson } from '@bufbuild/protobuf';
import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { excerptOf, GatewayError, type Json, type ToolResult } from '../../../core/index.ts';
import { wrapUnknown } from './any.ts';
import type { GrpcTarget } from './channels.ts';
import type { Codec } from './codec.ts';
import type { GrpcConfig } from './config.ts';
import { isSmall } from './decoding.ts';
import type { Outcome } from './exchange.ts';
import { RPC_FILES } from './omitted-files.ts';

const DETAILS = 'grpc-status-details-bin';
const MAX_DETAILS = 10;
const MAX_MESSAGE_CHARS = 1000;
const MAX_TYPE_CHARS = 100;
const MAX_DETAIL_CHARS = 1000;
/** The detail that holds stack traces of the server. */
const DEBUG_INFO = 'type.googleapis.com/google.rpc.DebugInfo';

interface Failing {
	config: Pick<GrpcConfig, 'timeoutMs'>;
	target: GrpcTarget;
	codec: Codec;
	/** Values that must not be shown. */
	secrets: readonly string[];
}

/** @throws upstream_timeout, upstream_failed if the server did not answer */
export function failedCall(
	{ status, answered, foreignType, tookMs }: Outcome,
	{ config: { timeoutMs }, target, codec, secrets }: Failing,
): ToolResult {
	if (status.code === Status.DEADLINE_EXCEEDED && tookMs >= timeoutMs - 50)
		throw new GatewayError('upstream_timeout', `${target.host} did not answer within ${timeoutMs / 1000} s.`);
	if (!answered && status.code === Status.UNAVAILABLE)
		throw new GatewayError('upstream_failed', `${target.host} could not be reached by gRPC: ${reasonIn(status.details)}.`, {
			cause: status,
		});
	if (foreignType !== null) {
		const type = JSON.stringify(excerptOf(foreignType, MAX_TYPE_CHARS, secrets));
		throw new GatewayError('upstream_failed', `${target.host} does not speak gRPC here: its answer is of the type ${type}.`);
	}
	const message = excerptOf(status.details, MAX_MESSAGE_CHARS, secrets);
	const lines = [`${Status[status.code]} (${status.code})${message === '' ? '' : `: ${message}`}`, ...detailsOf(status, codec, secrets)];
	return { content: [{ type: 'text', text: lines.join('\n') }], isError: true };
}

/** Replaces the library's message, which holds addresses that callers must not see. */
function reasonIn(said: string): string {
	if (/ECONNREFUSED/.test(said)) return 'it refuses connections';
	if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(said)) return 'it cannot be reached on its address';
	if (/certificate|altnames|self[- ]signed|CERT_|issuer/i.test(said)) return 'its certificate is not trusted, or is for another name';
	if (/wrong version number|SSL|TLS|EPROTO/i.test(said)) return 'it does not speak TLS';
	if (/ECONNRESET|dropped|closed|EPIPE|GOAWAY/i.test(said)) return 'it closed the connection';
	return 'there is no connection';
}

/** Returns no details if they are too large to be read on this thread, and thus to be of use. */
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
		// The details are whatever bytes the server sent; code and message are still a result without them.
		return [];
	}
}
