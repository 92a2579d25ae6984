// An answer of a gateway before it is sent: free of hapi's response, which costs as much as all the rest of a small call. `writer.ts` sends it;
// where hapi sends it, it is converted here.

import type { Readable } from 'node:stream';
import type { Request, ResponseObject } from '@hapi/hapi';

/** The names are in lower case. */
export type AnswerHeaders = Record<string, string | string[]>;

export interface Answer {
	status: number;
	/** May still be added to: they belong to this answer. */
	headers: AnswerHeaders;
	body: string | Buffer | Readable | null;
}

/** Returns headers in lower case; of several spellings of a name the last one wins. */
export function lowerHeaders(headers: Readonly<Record<string, string>>): AnswerHeaders {
	const lower: AnswerHeaders = {};
	for (const name in headers) lower[name.toLowerCase()] = headers[name] ?? '';
	return lower;
}

/** Has hapi send an answer. */
export function byHapi(request: Request, { status, headers, body }: Answer): ResponseObject {
	const response = request.generateResponse(body as string | null).code(status);
	for (const name in headers) response.headers[name] = headers[name] as string;
	return response;
}
