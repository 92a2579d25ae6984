// The requests that code makes: through core's guard like every other, counted, and of bounded size.

import { asGatewayError, type Call, charsetOf, headerNameFault, headerValueFault, type OutboundResponse } from '../../../core/index.ts';
import { type GuestRequest, type HostAnswer, LIMITS } from './messages.ts';

const MEGABYTE = 1024 * 1024;

type Lent = Pick<Call, 'request'>;

/**
 * Answers the requests of one run, which its thread has counted and measured (`request.ts`). Permission and number are asked here once
 * more, as a fault of the engine's could get past the thread. Whatever goes wrong is an answer too.
 */
export function createOutbound(call: Lent, mayRequest: boolean): (request: GuestRequest, signal: AbortSignal) => Promise<HostAnswer> {
	let [running, receivedBytes] = [0, 0];

	const refusal = (request: GuestRequest): string | null => {
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
			// Our own sentences, the guard's among them; what else there may be is nothing for strangers.
			return { fault: asGatewayError(error)?.message ?? 'The request failed.' };
		} finally {
			running--;
		}
	};
}

const TOO_MUCH = `The answers to the requests of a run may have ${LIMITS.answerBytes / MEGABYTE} MB together.`;

/** Null when no header is wrong. */
function headerFault({ headers }: GuestRequest): string | null {
	for (const [name, value] of Object.entries(headers)) {
		const fault = headerNameFault(name) ?? headerValueFault(value);
		if (fault !== null) return `The header ${JSON.stringify(name.slice(0, 100))} ${fault}.`;
	}
	return null;
}

function answerOf({ status, headers, url, body }: OutboundResponse): HostAnswer {
	const count = Object.keys(headers).length;
	if (count > LIMITS.headers) return { fault: `The answer has ${count} headers; code is handed ${LIMITS.headers}.` };
	// A copy of its own: the thread gets its memory, which a small body shares with others.
	return { status, headers, url, body: new Uint8Array(body), charset: charsetOf(headers['content-type'] ?? '') };
}
