// Exchanges bytes with a service, where a client library would not send them or would not show them.

import { connect } from 'node:net';
import { PATIENCE_MS } from './clock.ts';

export interface WireAnswer {
	status: number;
	/** Headers, names in lower case. */
	headers: Map<string, string>;
	body: string;
}

export interface Exchange {
	/** The responses in their order; none when the connection was closed without one. */
	answers: WireAnswer[];
	/** Whether the service closed the connection; false when the test did. */
	closed: boolean;
}

interface Patience {
	/** The number of responses after which the test closes; otherwise the service must close. */
	enough?: number;
	/** Bytes that are sent every 200 ms while the service reads. */
	adds?: string;
}

/** Exchanges bytes. @param bytes one character a byte */
export function exchange(
	url: string,
	bytes: string | Buffer,
	{ enough = Number.POSITIVE_INFINITY, adds = '' }: Patience = {},
): Promise<Exchange> {
	const { hostname, port } = new URL(url);
	return new Promise((resolve) => {
		const chunks: Buffer[] = [];
		let closed = true;
		const socket = connect(Number(port), hostname);
		const leave = (): void => {
			closed = false;
			socket.destroy();
		};
		const late = setTimeout(leave, PATIENCE_MS);
		const adding = adds ? setInterval(() => socket.writable && socket.write(adds), 200) : undefined;
		socket.on('data', (chunk) => {
			chunks.push(chunk);
			if (enough < Number.POSITIVE_INFINITY && parse(Buffer.concat(chunks).toString('latin1')).length >= enough) leave();
		});
		// Some servers close with a reset; `close` follows it.
		socket.on('error', () => socket.destroy());
		socket.on('close', () => {
			clearTimeout(late);
			clearInterval(adding);
			resolve({ answers: parse(Buffer.concat(chunks).toString('latin1')), closed });
		});
		if (bytes.length > 0) socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
	});
}

/** Parses responses, whose bodies must declare their length. */
function parse(stream: string): WireAnswer[] {
	const answers: WireAnswer[] = [];
	let rest = stream;
	while (rest !== '') {
		const end = rest.indexOf('\r\n\r\n');
		const [first = '', ...fields] = rest.slice(0, end === -1 ? rest.length : end).split('\r\n');
		const headers = new Map(
			fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 1).trim()]),
		);
		const length = Number(headers.get('content-length') ?? 0);
		const from = end === -1 ? rest.length : end + 4;
		const body = Buffer.from(rest.slice(from, from + length), 'latin1').toString();
		const status = Number(first.split(' ')[1]);
		// An interim response is followed by the answer (RFC 9110 §15.2).
		if (status >= 200) answers.push({ status, headers, body });
		rest = rest.slice(from + length);
	}
	return answers;
}
