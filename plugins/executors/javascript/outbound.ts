// The requests that code makes: they pass core's guard like all others, and are limited in number and size.

import { asGatewayError, type Call, charsetOf, headerNameFault, headerValueFault, type OutboundResponse } from '../../../core/index.ts';
import { type HostAnswer, LIMITS, type SandboxRequest } from './messages.ts';

const MEGABYTE = 1024 * 1024;

type Requester = Pick<Call, 'request'>;

/**
 * Answers the requests of one run, which its thread has counted and measured (`request.ts`). Permission and number are checked here once
 * more, as a fault of the engine could get past the thread. Failures are answers, too.
 */
export function createOutbound(
	call: Requester,
	mayRequest: boolean,
): (request: SandboxRequest, signal: AbortSignal) => Promise<HostAnswer> {
	let [running, receivedBytes] = [0, 0];

	const refusal = (request: SandboxRequest): string | null => {
		if (!mayRequest) return 'This run may not make requests.';
		if (running >= LIMITS.parallelRequests) return `A run may make ${LIMITS.parallelRequests} requests at once.`;
		if (receivedBytes >= LIMITS.answerBytes) return TOO_MUCH;
		return headerFault(request);
	};

	return async (request, signal) => {
		const refused = refusal(request);
		if (refused !== null) return { fault: refused };
		running++;
		try {
			const response = await call.request({ ...request, signal, maxBytes: LIMITS.answerBytes - receivedBytes });
			receivedBytes += response.body.length;
			return receivedBytes > LIMITS.answerBytes ? { fault: TOO_MUCH } : answerOf(response);
		} catch (error) {
			// Only our own messages, the guard's among them, are safe to show.
			return { fault: asGatewayError(error)?.message ?? 'The request failed.' };
		} finally {
			running--;
		}
	};
}

const TOO_MUCH = `The answers to the requests of a run may have ${LIMITS.answerBytes / MEGABYTE} MB together.`;

/** Finds the first invalid header; null if there is none. */
function headerFault({ headers }: SandboxRequest): string | null {
	for (const [name, value] of Object.entries(headers)) {
		const fault = headerNameFault(name) ?? headerValueFault(value);
		if (fault !== null) return `The header ${JSON.stringify(name.slice(0, 100))} ${fault}.`;
	}
	return null;
}

function answerOf({ status, headers, url, body }: OutboundResponse): HostAnswer {
	const count = Object.keys(headers).length;
	if (count > LIMITS.headers) return { fault: `The answer has ${count} headers, of at most ${LIMITS.headers}.` };
	// A copy: its memory is transferred to the thread, and a small body shares its own with others.
	return { status, headers, url, body: new Uint8Array(body), charset: charsetOf(headers['content-type'] ?? '') };
}
