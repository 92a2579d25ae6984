// Turns a status into a result that a model can read: name of the code, message, and details (google.rpc.Status).

import { status as Status, type StatusObject } from '@grpc/grpc-js';
import { excerptOf, GatewayError, type ToolResult } from '../../../core/index.ts';
import type { GrpcTarget } from './channels.ts';
import type { Codec } from './codec.ts';
import type { GrpcConfig } from './config.ts';
import { decodeDetails } from './decoding.ts';
import type { Outcome } from './exchange.ts';
import type { CodecSource, Owner } from './thread.ts';

const DETAILS = 'grpc-status-details-bin';
const MAX_MESSAGE_CHARS = 1000;
const MAX_TYPE_CHARS = 100;
const MAX_DETAIL_CHARS = 1000;

interface Failing {
	config: Pick<GrpcConfig, 'timeoutMs'> & CodecSource;
	target: GrpcTarget;
	codec: Codec;
	/** Values that must not be shown. */
	secrets: readonly string[];
	owner: Owner;
}

/** @throws upstream_timeout, upstream_failed if the server did not answer */
export async function failedCall({ status, answered, foreignType, tookMs }: Outcome, failing: Failing): Promise<ToolResult> {
	const { config, target, secrets } = failing;
	const { timeoutMs } = config;
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
	const lines = [`${Status[status.code]} (${status.code})${message === '' ? '' : `: ${message}`}`, ...(await detailsOf(status, failing))];
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

async function detailsOf({ metadata }: StatusObject, { config, codec, secrets, owner }: Failing): Promise<string[]> {
	const [bytes] = metadata.get(DETAILS);
	if (!Buffer.isBuffer(bytes)) return [];
	return (await decodeDetails(bytes, codec, config, owner)).map((detail) => excerptOf(detail, MAX_DETAIL_CHARS, secrets));
}
