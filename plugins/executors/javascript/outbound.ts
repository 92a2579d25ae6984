// The requests that code makes: through core's guard like every other, counted, and of bounded size.

import { asGatewayError, type Call, decodeText, headerNameFault, headerValueFault, type OutboundResponse } from '../../../core/index.ts';
import { type GuestAnswer, type GuestRequest, LIMITS } from './messages.ts';

const METHOD = /^[A-Z]{1,16}$/;
const MEGABYTE = 1024 * 1024;

/** Of one run, whose thread has counted them. @returns what answers its requests; what goes wrong is an answer too */
export function createOutbound(call: Pick<Call, 'request'>): (request: GuestRequest, signal: AbortSignal) => Promise<GuestAnswer> {
	let [running, receivedBytes] = [0, 0];

	const refusal = (request: GuestRequest): string | null => {
		if (running >= LIMITS.parallelRequests) return `A run may make ${LIMITS.parallelRequests} requests at once.`;
		if (receivedBytes >= LIMITS.answerBytes) return TOO_MUCH;
		return faultOf(request);
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

/** Null when it may be sent. */
function faultOf({ url, method, headers }: GuestRequest): string | null {
	if (!URL.canParse(url)) return `Not a URL: ${url.slice(0, 200)}`;
	if (!METHOD.test(method)) return `Not a method: ${method.slice(0, 40)}`;
	for (const [name, value] of Object.entries(headers)) {
		const fault = headerNameFault(name) ?? headerValueFault(value);
		if (fault !== null) return `The header ${JSON.stringify(name.slice(0, 100))} ${fault}.`;
	}
	return null;
}

const answerOf = ({ status, headers, url, body }: OutboundResponse): GuestAnswer => ({
	status,
	headers,
	url,
	text: decodeText(body, headers['content-type'] ?? ''),
});
