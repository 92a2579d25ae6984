// Redactions of what the request log keeps, in threads of their own: no check of arguments waits for one, and no call does.

import { raceWith } from '../kit/race.ts';
import type { AccountOf } from '../shared/accounts.ts';
import type { CheckPool } from './pool.ts';

/** Time that redactions have to end when the service stops. */
const CLOSING_MS = 1000;
const CHAR_BYTES = 2;

export interface RedactionOrder {
	/** The organization whose account's share of the threads is used. */
	organizationId: string;
	/** JSON texts. */
	texts: readonly string[];
	/** Patterns that RE2 can run. */
	patterns: readonly string[];
	/** The characters of a text that are needed. */
	maxChars: number;
}

export class Redactions {
	readonly #pool: CheckPool;
	readonly #accountOf: AccountOf;
	readonly #waiting = new Set<Promise<void>>();
	readonly #closing = new AbortController();

	constructor(pool: CheckPool, accountOf: AccountOf) {
		this.#pool = pool;
		this.#accountOf = accountOf;
	}

	/** Redacts texts. @param done called once, after this returned, with the texts; with null when they could not be redacted */
	add(order: RedactionOrder, done: (texts: readonly string[] | null) => void): void {
		const { signal } = this.#closing;
		const work = raceWith(signal, this.#redact(order, signal))
			.catch(() => null)
			.then(done)
			.finally(() => this.#waiting.delete(work));
		this.#waiting.add(work);
	}

	/** Waits a moment for the redactions, and ends the rest: all were told when this returns. */
	async close(): Promise<void> {
		const late = setTimeout(() => this.#closing.abort(), CLOSING_MS);
		await Promise.all(this.#waiting);
		clearTimeout(late);
		this.#closing.abort();
		this.#pool.close();
	}

	async #redact({ organizationId, ...task }: RedactionOrder, signal: AbortSignal): Promise<readonly string[] | null> {
		const sizeBytes = task.texts.reduce((sum, { length }) => sum + length * CHAR_BYTES, 0);
		const order = { account: await this.#accountOf(organizationId), organization: organizationId, sizeBytes, signal };
		const ending = await this.#pool.use(order, (run) => run({ type: 'redact', ...task }));
		return ending.type === 'redacted' ? ending.texts : null;
	}
}
