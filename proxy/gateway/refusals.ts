// Why the gateway did not answer, as one sentence for the user and the model.

import { TYPED } from '../program.ts';
import { isObject } from '../wire/messages.ts';

export type RefusalKind =
	| 'credential'
	| 'forbidden'
	| 'missing'
	| 'limited'
	| 'organization'
	| 'unreachable'
	| 'late'
	| 'stopped'
	| 'other';

/** The gateway refused a request, or did not answer it. The message is a whole sentence. */
export class Refusal extends Error {
	readonly kind: RefusalKind;

	constructor(kind: RefusalKind, message: string, options?: ErrorOptions) {
		super(message, options);
		this.kind = kind;
	}
}

/** Says how to get a credential of a service. */
export const howToLogIn = (serviceUrl: string): string => `Set SVC_TOKEN to an access key, or log in: ${TYPED} login --url ${serviceUrl}`;

const IS_IT_THERE = 'is SVC_URL, or --url, the address of the service?';

const KINDS: Readonly<Record<number, RefusalKind>> = {
	401: 'credential',
	403: 'forbidden',
	404: 'missing',
	429: 'limited',
	502: 'unreachable',
	503: 'unreachable',
	504: 'unreachable',
};
const MAX_SENTENCE_CHARS = 1000;

/** The address that was asked, and how to get its credential. */
export interface Asked {
	url: string;
	advice: string;
}

/** Makes the refusal of an answer that is no message of the protocol. @param body its text */
export function refusalOf(response: Pick<Response, 'status' | 'headers'>, body: string, { url, advice }: Asked): Refusal {
	const { status, headers } = response;
	const { explained, code } = readEnvelope(body);
	const said = explained ?? 'The answer has no explanation.';
	if (code === 'NO_ORGANIZATION') return new Refusal('organization', said);
	const kind = KINDS[status] ?? 'other';
	const host = new URL(url).host;
	if (status >= 300 && status < 400) return new Refusal('other', `${host} answered with a redirect, which is not followed: ${IS_IT_THERE}`);
	const isPage = status < 300 && !/\bjson\b/.test(headers.get('content-type') ?? '');
	// The service explains each of its refusals: this is another server, or a page.
	if (explained === null && (isPage || kind === 'missing'))
		return new Refusal(kind, `There is nothing of Gatehouse at ${url}: ${IS_IT_THERE}`);
	if (kind === 'credential') return new Refusal(kind, `The credential was refused by ${host}: ${said} ${advice}`);
	if (kind === 'missing') return new Refusal(kind, `There is no active gateway at ${url}: ${said}`);
	const seconds = headers.get('retry-after');
	if (kind === 'limited') return new Refusal(kind, `${said}${seconds && !said.includes(seconds) ? ` Try again in ${seconds} s.` : ''}`);
	return new Refusal(kind, `The gateway at ${host} answered ${status}: ${said}`);
}

/** Reads what an error of the service says; null for what is no error of it, and says nothing that could be shown. */
function readEnvelope(body: string): { explained: string | null; code: string | null } {
	try {
		const value: unknown = JSON.parse(body);
		if (isObject(value) && typeof value['message'] === 'string')
			return { explained: sentence(value['message']), code: typeof value['error'] === 'string' ? value['error'] : null };
	} catch {
		// A proxy in between answers with a page: it is not shown.
	}
	return { explained: null, code: null };
}

export const sentence = (text: string): string => {
	const cut = text.trim().slice(0, MAX_SENTENCE_CHARS);
	return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
};

/** Makes the refusal of a request that failed before it was answered. */
export function unreachable(error: unknown, url: string): Refusal {
	const reason = reasonOf(error);
	return new Refusal('unreachable', `${new URL(url).origin} cannot be reached${reason ? ` (${reason})` : ''}.`, { cause: error });
}

/** Finds the system's code in the causes of an error of `fetch`. */
function reasonOf(error: unknown): string {
	for (let at = error, hops = 0; at instanceof Error && hops < 5; at = at.cause, hops += 1) {
		const { code } = at as NodeJS.ErrnoException;
		if (typeof code === 'string') return code;
		if (at instanceof AggregateError && at.errors.length > 0) return reasonOf(at.errors[0]);
	}
	return '';
}
