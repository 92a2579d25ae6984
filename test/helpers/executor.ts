// Parts to run an executor with in tests: the real egress guard on loopback, and an upstream that keeps the bytes it received.

import type { TestContext } from 'node:test';
import type { Call } from '../../core/contract/context.ts';
import type { SaveContext } from '../../core/contract/kinds.ts';
import type { Api, Tool } from '../../core/contract/nouns.ts';
import type { OutboundRequest } from '../../core/contract/outbound.ts';
import { createEgress } from '../../core/egress/egress.ts';
import { Memo } from '../../core/shared/memo.ts';
import { silent } from './silent.ts';
import { tcpUpstream, type Upstream } from './upstream.ts';

/** Makes the parts of `Call` that executors send with; the rest is absent. `sign` adds the headers of `signed`. */
export function loopbackCall(
	t: TestContext,
	options: { api?: Api; signed?: (request: OutboundRequest) => OutboundRequest; signal?: AbortSignal } = {},
): Call {
	const egress = createEgress({ allow: ['127.0.0.1'] });
	const { signal = new AbortController().signal } = options;
	const memo = new Memo(100);
	t.after(() => egress.close());
	const call: Pick<Call, Lent> = {
		request: (request) => egress.request(request),
		stream: (request) => egress.stream({ signal, ...request }),
		fetch: (url, init) => egress.fetch(url, init),
		connect: (host, port) => egress.connect(host, port),
		exchange: (_url, work) => work(() => undefined, {}),
		memo: (key, ttlMs, compute) => memo.get('organization', key, ttlMs, compute),
		sign: async (request) => options.signed?.(request) ?? request,
		renew: async () => null,
		signal,
		api: options.api ?? null,
		tool: TOOL,
		settings: async () => ({ codeMayFetch: true, toolExposure: 'full' }),
		account: async () => 'account',
	};
	return call as Call;
}

/** Makes the context of an executor's `check` in tests; by default every URL passes. */
export const saving = (checkUrl: SaveContext['checkUrl'] = async () => undefined): SaveContext => ({
	log: silent,
	operator: {},
	organizationId: TOOL.organizationId,
	account: async () => 'account',
	checkUrl,
	checkAddress: async () => undefined,
	checkProvider: async () => undefined,
	checkSchema: async () => undefined,
});

type Lent =
	| ('request' | 'stream' | 'fetch' | 'connect' | 'exchange' | 'memo' | 'sign' | 'renew')
	| ('signal' | 'api' | 'tool' | 'settings' | 'account');

const TOOL: Tool = {
	id: 'tool',
	organizationId: 'org',
	name: 'tool',
	description: '',
	executor: '',
	parameters: { type: 'object' },
	outputSchema: null,
	annotations: {},
	apiId: null,
	version: '1',
};

export function apiAt(baseUrl: string): Api {
	return { id: 'api', organizationId: 'org', name: 'Pets', type: 'openapi', baseUrl };
}

/** One request as its bytes, in latin1 so that every byte is one character. */
export interface Recorded {
	line: string;
	/** Headers with names in lower case and values as received; the last of equal names counts. */
	headers: Record<string, string>;
	/** The header lines, in latin1 and in order. */
	fields: string[];
	body: Buffer;
}

export interface Recorder extends Upstream {
	/** Returns the only request since the last `take`. */
	take(): Recorded;
	/** Returns the number of requests since the last `take`. */
	count(): number;
}

/** Starts an upstream that answers every request with 204. */
export async function recorder(t: TestContext): Promise<Recorder> {
	const requests: Recorded[] = [];
	const upstream = await tcpUpstream(t, (socket) => {
		let seen = Buffer.alloc(0);
		socket.on('data', (chunk) => {
			seen = Buffer.concat([seen, chunk]);
			const request = parse(seen);
			if (request === null) return;
			seen = Buffer.alloc(0);
			requests.push(request);
			socket.write('HTTP/1.1 204 No Content\r\n\r\n');
		});
	});
	const take = (): Recorded => {
		const [only, ...more] = requests.splice(0);
		if (!only || more.length > 0) throw new Error(`${more.length + (only ? 1 : 0)} requests, expected one`);
		return only;
	};
	return { ...upstream, take, count: () => requests.length };
}

/** Parses a request; null until it is complete. */
function parse(bytes: Buffer): Recorded | null {
	const end = bytes.indexOf('\r\n\r\n');
	if (end < 0) return null;
	const [line = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n');
	const headers: Record<string, string> = {};
	for (const field of fields) {
		const colon = field.indexOf(':');
		headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
	}
	const body = bytes.subarray(end + 4);
	return body.length < Number(headers['content-length'] ?? 0) ? null : { line, headers, fields, body };
}
