// Hides a secret in a streamed body, also where a part ends within it.

import { withoutSecrets } from '../kit/hidden-secrets.ts';

type Bytes = AsyncIterableIterator<Uint8Array, undefined>;

/** @param secret nothing is hidden where it is empty */
export const withoutSecret = (body: Bytes, secret: string): Bytes => (secret === '' ? body : new Hiding(body, secret));

class Hiding implements Bytes {
	readonly #body: Bytes;
	readonly #secret: string;
	/** The end of the last part, in latin1, with which the secret may begin. */
	#kept = '';

	constructor(body: Bytes, secret: string) {
		this.#body = body;
		this.#secret = secret;
	}

	async next(): Promise<IteratorResult<Uint8Array, undefined>> {
		for (;;) {
			const next = await this.#body.next();
			const text = next.done ? this.#kept : this.#hidden(next.value);
			if (next.done) this.#kept = '';
			if (text !== '') return { done: false, value: Buffer.from(text, 'latin1') };
			if (next.done) return next;
		}
	}

	async return(): Promise<IteratorResult<Uint8Array, undefined>> {
		this.#kept = '';
		return (await this.#body.return?.()) ?? { done: true, value: undefined };
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	#hidden(part: Uint8Array): string {
		const text = withoutSecrets(this.#kept + Buffer.from(part).toString('latin1'), [this.#secret]);
		const end = text.length - beginningAt(text, this.#secret);
		this.#kept = text.slice(end);
		return text.slice(0, end);
	}
}

/** Returns the length of the longest end of a text with which the secret begins. */
function beginningAt(text: string, secret: string): number {
	let length = Math.min(text.length, secret.length - 1);
	while (length > 0 && !text.endsWith(secret.slice(0, length))) length--;
	return length;
}
