// The way to the gateway: MCP over Streamable HTTP, one POST for each message. Nothing is sent twice, and no redirect is followed with the credential.

import { VERSION } from '../version.ts';
import { readEvents, type ServerEvent } from '../wire/events.ts';
import {
	isObject,
	type JsonObject,
	type Message,
	type RequestMessage,
	type ResponseMessage,
	readMessage,
	requestMessage,
} from '../wire/messages.ts';
import { type Asked, Refusal, refusalOf, unreachable } from './refusals.ts';

const MAX_BODY_BYTES = 64 * 1024 * 1024;
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** The parameter that `Mcp-Name` repeats (2026-07-28, transports, "Standard Headers"). */
const NAMED: Readonly<Record<string, string>> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };

export interface Target extends Asked {
	/** Returns the credential of now. */
	token(): string;
	/** Reads the credential again. @returns whether it, or its organization, is another one now */
	reload(): boolean;
	/** Returns the id for X-Organization-Id of now; null sends none. @throws Refusal where it cannot be found out */
	organizationId(): Promise<string | null>;
	/** Is told of each change of the credential or its organization. */
	onRenewal(): void;
	/** Is told of each answer, and of each refusal. */
	onAnswer(): void;
	onRefusal(refusal: Refusal): void;
}

export interface Posting {
	signal: AbortSignal;
	headers?: Record<string, string>;
	/** Is called for each message of the answer, one after the other. */
	onMessage(message: Message): void | Promise<void>;
}

export interface Posted {
	status: number;
	session: string | null;
}

export class GatewayClient {
	readonly target: Target;
	#requests = 0;
	readonly #streams = new Set<AbortController>();

	constructor(target: Target) {
		this.target = target;
	}

	/** Takes up a new login if there is one. */
	renew(): void {
		if (!this.target.reload()) return;
		for (const stream of this.#streams) stream.abort(new Refusal('stopped', 'There is a new login.'));
		this.target.onRenewal();
	}

	/** Reads a stream, with a signal that aborts at the next login, too: it tells of changes to the login that opened it. */
	async untilRenewal<T>(signal: AbortSignal, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
		this.renew();
		const stream = new AbortController();
		const end = (): void => stream.abort(signal.reason);
		signal.addEventListener('abort', end, { once: true });
		if (signal.aborted) end();
		this.#streams.add(stream);
		try {
			return await read(stream.signal);
		} finally {
			this.#streams.delete(stream);
			signal.removeEventListener('abort', end);
		}
	}

	/** Sends the text of a message. @throws Refusal */
	post(text: string, posting: Posting): Promise<Posted> {
		return this.#told(this.#post(text, posting));
	}

	async #post(text: string, { signal, headers = {}, onMessage }: Posting): Promise<Posted> {
		const response = await this.#fetch({
			method: 'POST',
			headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
			body: text,
			signal,
		});
		const posted = { status: response.status, session: response.headers.get('mcp-session-id') };
		try {
			await this.#deliver(response, onMessage);
		} catch (error) {
			if (error instanceof Refusal) throw error;
			throw this.#broken(error, signal, 'The answer of the gateway broke off');
		}
		return posted;
	}

	/** Sends a request of our own. @returns its result. @throws Refusal */
	async request(
		method: string,
		params: JsonObject,
		signal: AbortSignal,
		headers: Record<string, string> = {},
	): Promise<ResponseMessage & Posted> {
		const id = `gatehouse-proxy-${++this.#requests}`;
		let answer: ResponseMessage | null = null;
		const onMessage = (message: Message): void => {
			if (message.kind === 'response' && (message.id === id || message.id === null)) answer = message;
		};
		const posted = await this.post(JSON.stringify(requestMessage(id, method, params)), { signal, headers, onMessage });
		if (answer === null) throw new Refusal('other', `The gateway did not answer ${method}.`);
		return { ...(answer as ResponseMessage), ...posted };
	}

	/** Opens the stream of notifications. @returns null where the gateway offers none now. @throws Refusal */
	listen(headers: Record<string, string>, signal: AbortSignal): Promise<AsyncGenerator<ServerEvent, void> | null> {
		return this.#told(this.#listen(headers, signal));
	}

	async #listen(headers: Record<string, string>, signal: AbortSignal): Promise<AsyncGenerator<ServerEvent, void> | null> {
		const response = await this.#fetch({ method: 'GET', headers: { accept: 'text/event-stream', ...headers }, signal });
		if (response.status === 405) {
			await response.body?.cancel();
			return null;
		}
		if (!response.ok || !response.body) throw refusalOf(response, await textOf(response), this.target);
		return readEvents(response.body);
	}

	async #told<T>(work: Promise<T>): Promise<T> {
		try {
			const done = await work;
			this.target.onAnswer();
			return done;
		} catch (error) {
			if (error instanceof Refusal) this.target.onRefusal(error);
			throw error;
		}
	}

	/** Sends a request with the login of now, and once more where that was refused and there is a newer one: nothing has run. */
	async #fetch(init: RequestInit): Promise<Response> {
		this.renew();
		const sent = this.target.token();
		const response = await this.#fetchOnce(init);
		if (response.status !== 401) return response;
		this.renew();
		// Another request may have taken it up meanwhile.
		if (this.target.token() === sent) return response;
		await response.body?.cancel();
		return this.#fetchOnce(init);
	}

	async #fetchOnce(init: RequestInit): Promise<Response> {
		const { url } = this.target;
		const organizationId = await this.target.organizationId();
		const headers = {
			...(init.headers as Record<string, string>),
			authorization: `Bearer ${this.target.token()}`,
			'user-agent': `gatehouse-proxy/${VERSION}`,
			...(organizationId !== null && { 'x-organization-id': organizationId }),
		};
		try {
			return await fetch(url, { ...init, headers, redirect: 'manual' });
		} catch (error) {
			throw this.#broken(error, init.signal ?? null, null);
		}
	}

	/** @param said what had begun; null where nothing was received */
	#broken(error: unknown, signal: AbortSignal | null, said: string | null): Refusal {
		if (signal?.aborted) return signal.reason instanceof Refusal ? signal.reason : new Refusal('stopped', 'The request was ended.');
		const refusal = unreachable(error, this.target.url);
		return said === null ? refusal : new Refusal('unreachable', `${said}: ${refusal.message}`, { cause: error });
	}

	async #deliver(response: Response, onMessage: Posting['onMessage']): Promise<void> {
		const type = response.headers.get('content-type') ?? '';
		if (response.ok && response.body && type.startsWith('text/event-stream')) {
			for await (const { data } of readEvents(response.body)) if (data !== '') await onMessage(this.#read(data));
			return;
		}
		const text = await textOf(response);
		if (response.ok && text === '') return;
		const message = type.startsWith('application/json') && isRpc(text) ? this.#read(text) : null;
		// A credential that is refused has a challenge, whatever the body.
		if (!message || response.status === 401) throw refusalOf(response, text, this.target);
		await onMessage(message);
	}

	#read(text: string): Message {
		try {
			return readMessage(text);
		} catch (error) {
			throw new Refusal('other', `${new URL(this.target.url).origin} answered with what is no message of MCP.`, { cause: error });
		}
	}
}

/** Whether the text is a JSON-RPC message, and not the service's own error. */
function isRpc(text: string): boolean {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) && value['jsonrpc'] === '2.0';
	} catch {
		return false;
	}
}

/** Reads a body to its end. @throws Refusal for one that is too long */
async function textOf({ body }: Response): Promise<string> {
	const parts: Uint8Array[] = [];
	let bytes = 0;
	for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
		bytes += part.length;
		if (bytes > MAX_BODY_BYTES) throw new Refusal('other', `The answer of the gateway has more than ${MAX_BODY_BYTES} bytes.`);
		parts.push(part);
	}
	return Buffer.concat(parts).toString('utf8');
}

/** Returns the revision that a request of 2026-07-28 and later says in itself; null for those with a handshake. */
export function ownVersion(params: JsonObject): string | null {
	const meta = params['_meta'];
	const version = isObject(meta) ? meta[VERSION_KEY] : undefined;
	return typeof version === 'string' ? version : null;
}

/** Returns the headers that repeat what a request of 2026-07-28 says. */
export function headersOf({ method, params }: Pick<RequestMessage, 'method' | 'params'>, version: string): Record<string, string> {
	const name = params[NAMED[method] ?? ''];
	return {
		'mcp-protocol-version': encodeHeader(version),
		'mcp-method': encodeHeader(method),
		...(typeof name === 'string' && { 'mcp-name': encodeHeader(name) }),
	};
}

/** Wraps what cannot stand in a header as it is ("Value Encoding"). */
const encodeHeader = (text: string): string =>
	/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?')
		? text
		: `=?base64?${Buffer.from(text).toString('base64')}?=`;
