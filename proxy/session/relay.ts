// Passes a request on to the gateway, and back what it says before its answer: progress, and questions to the user.

import { headersOf, ownVersion } from '../gateway/client.ts';
import { Refusal } from '../gateway/refusals.ts';
import { type Id, type JsonObject, type Message, notification, type ResponseMessage } from '../wire/messages.ts';
import type { Context } from './context.ts';
import { pause } from './deadline.ts';
import type { Handshake } from './handshake.ts';
import type { Running } from './running.ts';

/** The pause after which a cancellation is sent again: the first one may have overtaken its request. */
const CANCEL_AGAIN_MS = 1000;

/** A message of the gateway before its answer. */
type Notice = Exclude<Message, ResponseMessage>;

export interface Answered {
	message: ResponseMessage;
	status: number;
}

export class Relay {
	readonly #context: Context;
	readonly #handshake: Handshake;
	/** Questions of the gateway that the client has not answered, with the request that asks. */
	readonly #asked = new Map<Id, Running>();

	constructor(context: Context, handshake: Handshake) {
		this.#context = context;
		this.#handshake = handshake;
	}

	/**
	 * Sends a request unchanged, or with other parameters or another name.
	 * @param onNotice takes what is said before the answer; else it goes to the client
	 * @param signal ends it @throws Refusal
	 */
	async pass(
		running: Running,
		changed: JsonObject | null = null,
		onNotice = (one: Notice): Promise<void> => this.#say(one, running),
		signal = running.time.signal,
	): Promise<Answered> {
		const { request } = running;
		const params = changed ?? request.params;
		const text = changed ? JSON.stringify({ jsonrpc: '2.0', id: request.id, method: request.method, params }) : request.text;
		const headers = await this.#headersFor(running, params);
		let message: ResponseMessage | null = null;
		const onMessage = (one: Message): Promise<void> | undefined => {
			if (one.kind !== 'response') return onNotice(one);
			if (one.id === request.id || one.id === null) message = one;
			return undefined;
		};
		const { status } = await this.#context.client.post(text, { signal, headers, onMessage });
		if (message !== null) return { message, status };
		throw new Refusal('other', 'The gateway ended the request without an answer.');
	}

	/** Passes on what the user answered; an answer to no question is dropped. */
	async answer(message: ResponseMessage): Promise<void> {
		const running = message.id === null ? undefined : this.#asked.get(message.id);
		if (!running || message.id === null) return;
		this.#asked.delete(message.id);
		running.time.resume();
		await this.#notify(message.text);
	}

	/** Tells the gateway that a request is cancelled. */
	async cancel({ request, time }: Running, reason: Refusal): Promise<void> {
		if (ownVersion(request.params) === null && request.method === 'tools/call') {
			const text = JSON.stringify(notification('notifications/cancelled', { requestId: request.id, reason: reason.message }));
			await this.#notify(text);
			if (!this.#context.ending.aborted && !time.signal.aborted) {
				await pause(CANCEL_AGAIN_MS, time.signal);
				if (!time.signal.aborted) await this.#notify(text);
			}
		}
		// In 2026-07-28, closing the stream cancels.
		time.end(reason);
	}

	/** Withdraws the questions of a request that is over: the client would go on showing them, and nobody waits for an answer. */
	async withdraw(running: Running): Promise<void> {
		const open = [...this.#asked].filter(([, one]) => one === running).map(([id]) => id);
		for (const id of open) {
			this.#asked.delete(id);
			await this.#context.send(notification('notifications/cancelled', { requestId: id, reason: 'The request that asked is over.' }));
		}
	}

	async #say(message: Notice, running: Running): Promise<void> {
		if (running.isOver) return;
		if (message.kind === 'request') {
			running.time.pause();
			this.#asked.set(message.id, running);
		} else if (message.method === 'notifications/cancelled') this.#goOn(message.params['requestId']);
		await running.say(message.text);
	}

	/** The gateway no longer waits for the user. */
	#goOn(id: unknown): void {
		const running = this.#asked.get(id as Id);
		if (!running) return;
		this.#asked.delete(id as Id);
		running.time.resume();
	}

	async #headersFor({ request, time }: Running, params: JsonObject): Promise<Record<string, string>> {
		const version = ownVersion(params);
		if (version !== null) return headersOf({ method: request.method, params }, version);
		const late = new Promise<never>((_resolve, reject) => {
			time.signal.addEventListener('abort', () => reject(time.signal.reason), { once: true });
		});
		late.catch(() => undefined);
		return Promise.race([this.#handshake.headers(), late]);
	}

	/** Sends what has no answer; if it does not arrive, the gateway goes on as if it had not been sent. */
	async #notify(text: string): Promise<void> {
		const { client, limits } = this.#context;
		const signal = AbortSignal.timeout(limits.discoveryMs);
		const headers = await this.#handshake.headers().catch(() => ({}));
		await client.post(text, { signal, headers, onMessage: () => undefined }).catch(() => undefined);
	}
}
