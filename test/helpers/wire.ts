// Bytes to a service and back, where a client library would not send them or would not show them.

import { connect } from 'node:net';

export interface WireAnswer {
	status: number;
	/** Names in lower case. */
	headers: Map<string, string>;
	body: string;
}

export interface Exchange {
	/** In their order; none when the connection was closed without a word. */
	answers: WireAnswer[];
	/** False when it was we who closed it. */
	closed: boolean;
	tookMs: number;
}

interface Patience {
	/** After that we close it. */
	waitMs?: number;
	/** Sent every 200 ms, as long as the other side listens. */
	adds?: string;
}

/** @param bytes one character a byte */
export function exchange(url: string, bytes: string | Buffer, { waitMs = 2000, adds = '' }: Patience = {}): Promise<Exchange> {
	const { hostname, port } = new URL(url);
	return new Promise((resolve) => {
		const startedMs = performance.now();
		const chunks: Buffer[] = [];
		let closed = true;
		const socket = connect(Number(port), hostname);
		const late = setTimeout(() => {
			closed = false;
			socket.destroy();
		}, waitMs);
		const adding = adds ? setInterval(() => socket.writable && socket.write(adds), 200) : undefined;
		socket.on('data', (chunk) => chunks.push(chunk));
		// A reset is how some servers close; `close` follows it.
		socket.on('error', () => socket.destroy());
		socket.on('close', () => {
			clearTimeout(late);
			clearInterval(adding);
			resolve({ answers: parse(Buffer.concat(chunks).toString('latin1')), closed, tookMs: performance.now() - startedMs });
		});
		if (bytes.length > 0) socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
	});
}

/** Bodies must say their length. */
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
		answers.push({ status: Number(first.split(' ')[1]), headers, body });
		rest = rest.slice(from + length);
	}
	return answers;
}
