// The handshake with the gateway, as the client began it: the gateway learns what the client can, and the session's id tells its requests apart.

import { Refusal, sentence } from '../gateway/refusals.ts';
import { isObject, type JsonObject } from '../wire/messages.ts';
import type { Context } from './context.ts';
import { deadline } from './deadline.ts';

export interface Opened {
	session: string | null;
	version: string;
	instructions: string | null;
}

export class Handshake {
	readonly #context: Context;
	#asked: JsonObject | null = null;
	#opened: Opened | null = null;
	#opening: Promise<Opened> | null = null;

	constructor(context: Context) {
		this.#context = context;
	}

	/** Takes the parameters of the client's `initialize`. */
	begin(params: JsonObject): void {
		this.#asked = params;
		this.#opened = null;
		this.#opening = null;
	}

	/** Shakes hands with the gateway unless that was done; null where the client never began. @throws Refusal */
	ready(): Promise<Opened | null> {
		if (this.#opened || !this.#asked) return Promise.resolve(this.#opened);
		this.#opening ??= this.#open(this.#asked).finally(() => {
			this.#opening = null;
		});
		return this.#opening;
	}

	/** Returns the headers of the requests of this session. @throws Refusal */
	async headers(): Promise<Record<string, string>> {
		const opened = await this.ready();
		if (!opened) return {};
		return { 'mcp-protocol-version': opened.version, ...(opened.session !== null && { 'mcp-session-id': opened.session }) };
	}

	async #open(params: JsonObject): Promise<Opened> {
		const { client, limits, ending } = this.#context;
		const time = deadline(limits.discoveryMs, ending);
		try {
			const { result, error, session } = await client.request('initialize', params, time.signal);
			const version = isObject(result) ? result['protocolVersion'] : undefined;
			if (!isObject(result) || typeof version !== 'string')
				throw new Refusal('other', sentence(error?.message ?? 'The gateway did not greet.'));
			const { instructions } = result;
			const opened = { session, version, instructions: typeof instructions === 'string' ? instructions : null };
			if (this.#asked === params) this.#opened = opened;
			return opened;
		} finally {
			time.clear();
		}
	}
}
