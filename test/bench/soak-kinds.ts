// The kinds of requests of a soak, each with the answers that it may have.

import type { Session } from '../../demo/account.ts';
import { callOf, createTool, listOf, modernCallOf, type Path, publish } from './paths.ts';

export interface Kind {
	name: string;
	/** The number of its requests in each turn of all kinds. */
	share: number;
	/** Sends one. @returns a sentence about a wrong answer; null when it was right */
	send(): Promise<string | null>;
}

interface Urls {
	upstream: string;
	/** Another one, whose answers are failures. */
	failing: string;
}

/** The time after which a client that leaves has left. */
const LEAVE_MS = 50;
const STREAM_MS = 2000;

/** Sends a path's request, and judges its status and text. */
async function ask({ url, method, headers, body }: Path, isRight: (status: number, text: string) => boolean): Promise<string | null> {
	const answer = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
	const text = await answer.text();
	return isRight(answer.status, text) ? null : `${answer.status} ${text}`;
}

const isItem = (status: number, text: string): boolean =>
	status === 200 && text.includes('Pride and Prejudice') && !text.includes('"isError":true');

/** Leaves before a slow upstream has answered. */
async function leave({ url, method, headers, body }: Path): Promise<string | null> {
	const init = { method, headers, ...(body !== undefined && { body }), signal: AbortSignal.timeout(LEAVE_MS) };
	const answer = await fetch(url, init).catch(() => null);
	await answer?.text().catch(() => undefined);
	return null;
}

/** Opens an event stream, and closes it after a while. */
async function stream(url: string, credential: Record<string, string>): Promise<string | null> {
	const headers = { accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25', ...credential };
	const answer = await fetch(url, { headers, signal: AbortSignal.timeout(STREAM_MS) }).catch(() => null);
	if (answer === null) return null;
	const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
	await answer.text().catch(() => undefined);
	return isStream ? null : `${answer.status} instead of a stream`;
}

/** Makes a record over REST, reads it, and removes it. */
async function write({ rest, organization }: Session, urls: Urls): Promise<null> {
	const id = await createTool(rest, organization.id, urls.upstream);
	await rest('GET', `/tools/${id}`);
	await rest('PATCH', `/tools/${id}`, { description: 'Another one.' });
	await rest('DELETE', `/tools/${id}`);
	return null;
}

async function read({ rest, organization }: Session): Promise<null> {
	for (const path of ['/gateways', `/organizations/${organization.id}/tools`, '/auth/profile']) await rest('GET', path);
	return null;
}

async function publishCall(
	session: Session,
	upstream: string,
	name: string,
): Promise<{ url: string; credential: { 'x-api-key': string } }> {
	const toolId = await createTool(session.rest, session.organization.id, upstream);
	const { id, url } = await publish(session.rest, toolId, { type: 'api_key', endpoint: `/${name}` });
	const { key } = await session.rest<{ key: string }>('POST', `/gateways/${id}/auth/api-keys`, { name: 'soak' });
	return { url, credential: { 'x-api-key': key } };
}

/** Prepares the gateways that the kinds call. */
export async function kindsOf(session: Session, urls: Urls): Promise<Kind[]> {
	const good = await publishCall(session, urls.upstream, 'good');
	const slow = await publishCall(session, `${urls.upstream}/slow/1000`, 'slow');
	const large = await publishCall(session, `${urls.upstream}/sized/65536`, 'large');
	const failing = await publishCall(session, `${urls.failing}/failing/500`, 'failing');
	const call = (gateway: typeof good): Path => callOf('', gateway.url, gateway.credential);
	const modern = modernCallOf('', good.url, good.credential);
	const bad = callOf('', good.url, { 'x-api-key': 'svc_gw_nobody' });
	const list = listOf('', good.url, good.credential);
	return [
		{ name: 'tools/call, 2025-11-25', share: 10, send: () => ask(call(good), isItem) },
		{ name: 'tools/call, 2026-07-28', share: 10, send: () => ask(modern, isItem) },
		{ name: 'tools/call, a result of 64 KB', share: 1, send: () => ask(call(large), isItem) },
		{ name: 'tools/call, an upstream of a second', share: 2, send: () => ask(call(slow), isItem) },
		{
			name: 'tools/call, an upstream that fails',
			share: 2,
			send: () => ask(call(failing), (status, text) => status === 200 && text.includes('"isError":true')),
		},
		{ name: 'tools/list', share: 3, send: () => ask(list, (status, text) => status === 200 && text.includes('"tools"')) },
		{ name: 'a bad key', share: 2, send: () => ask(bad, (status) => status === 401 || status === 429) },
		{ name: 'a client that leaves', share: 2, send: () => leave(call(slow)) },
		{ name: 'an event stream for 2 s', share: 1, send: () => stream(good.url, good.credential) },
		{ name: 'REST, three reads', share: 1, send: () => read(session) },
		{ name: 'REST, a tool made, read, changed and removed', share: 1, send: () => write(session, urls) },
	];
}
