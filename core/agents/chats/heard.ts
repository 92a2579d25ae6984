// The part of a run that a client has heard: the text that waits for it, and how far that is the text of the output.

import type { Hearing } from './conversation.ts';

export class Heard implements Hearing {
	#hasActed = false;
	#isHere = false;
	/** Text is heard from the beginning of an answer on. */
	#isHearing = false;
	/** The text that the client has not taken yet. */
	#waiting = '';
	/** The text of the answer that is under way. */
	#said = '';
	#reason: string | null = null;
	#hasSpoken = false;
	/** Another answer came in place of one that was heard. */
	#isBroken = false;
	#wake: (() => void) | null = null;
	#isAwake = false;

	/** Whether the run may have had an effect that is no question to a model: whoever did not hear it cannot tell. */
	get hasActed(): boolean {
		return this.#hasActed || !this.#isHere;
	}

	here(): void {
		this.#isHere = true;
	}

	begins(): void {
		this.#isHearing = true;
		const isNext = this.#reason === 'tool_calls';
		this.#isBroken ||= !isNext && this.#said !== '';
		if (!this.#isBroken) this.#said = '';
		this.#reason = null;
	}

	text(text: string): void {
		if (!this.#isHearing || this.#isBroken || text === '') return;
		// The text before a call of tools is a paragraph of its own.
		if (this.#said === '' && this.#hasSpoken) this.#waiting += '\n\n';
		this.#said += text;
		this.#waiting += text;
		this.#hasSpoken = true;
		this.wake();
	}

	ends(reason: string): void {
		this.#reason = reason;
	}

	acts(): void {
		this.#hasActed = true;
	}

	/** Whether any text was heard. */
	get hasSpoken(): boolean {
		return this.#hasSpoken;
	}

	/** Returns the text that waits. */
	take(): string {
		const text = this.#waiting;
		this.#waiting = '';
		return text;
	}

	/** Returns what is left of the whole; null when what was heard is not how it begins. */
	restOf(content: string): string | null {
		if (this.#isBroken || !content.startsWith(this.#said)) return null;
		const isApart = this.#said === '' && this.#hasSpoken && content !== '';
		return `${isApart ? '\n\n' : ''}${content.slice(this.#said.length)}`;
	}

	wake(): void {
		this.#isAwake = true;
		this.#wake?.();
	}

	/** Resolves when there is something new. */
	async wait(): Promise<void> {
		if (!this.#isAwake)
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		this.#wake = null;
		this.#isAwake = false;
	}
}
