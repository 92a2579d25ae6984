// The calls that a run may make to its host: print, wait, send a request, report how it ended. All are counted here, and no input
// is trusted.

import { randomUUID } from 'node:crypto';
import { CodeCalls } from './code-calls.ts';
import { cutFault, type Ending, type EngineFault, type HostAnswer, LIMITS, type Progress, type SandboxRequest } from './messages.ts';
import { preludeBase } from './prelude/base.ts';
import { preludeCalls } from './prelude/calls.ts';
import { preludeFaults } from './prelude/faults.ts';
import { preludeWeb } from './prelude/web.ts';
import { readProgress } from './progress.ts';
import { readRequest } from './request.ts';
import { measure } from './result.ts';
import { changedUrl, fromBase64, toBase64 } from './web.ts';

const MAX_TIMER_MS = 60_000;
const MAX_ID_CHARS = 16;
/** Parts of the prelude, which it loads when they are needed. */
const PARTS: Readonly<Record<string, string>> = {
	base: JSON.stringify(`(${preludeBase})`),
	calls: JSON.stringify(`(${preludeCalls})`),
	faults: JSON.stringify(`(${preludeFaults})`),
	web: JSON.stringify(`(${preludeWeb})`),
};

export interface HostCallsParts {
	/** Sends a request, which is answered by `deliver`. */
	request(id: string, request: SandboxRequest): void;
	progress(progress: Progress): void;
	/** Makes a call, which is answered by `deliver`. */
	call(id: string, name: string, argument: string): void;
}

export class HostCalls {
	/** How the run ended; null while it goes on. */
	ending: Ending | null = null;
	mayRequest = false;
	/** The calls of functions that were lent. */
	readonly calls: CodeCalls;
	readonly #parts: HostCallsParts;
	readonly #lines: string[] = [];
	readonly #timers = new Map<string, NodeJS.Timeout>();
	readonly #due: [id: string, text: string][] = [];
	readonly #verbs: Readonly<Record<string, (first: string, second: string, third: string) => string | undefined>> = {
		returned: (json) => this.#end(measure(json)),
		unusable: (json) => this.#end({ type: 'unusable', message: asText(json).slice(0, 300) }),
		threw: (json) => this.#end({ type: 'threw', fault: asFault(json) }),
		progress: (told) => this.#report(parsed(told)),
		log: (level, line) => this.#print(asText(level), asText(line)),
		timer: (id, delayMs) => this.#startTimer(asId(id), Number(delayMs)),
		clear: (id) => this.#clearTimer(asId(id)),
		request: (id, asked) => this.#send(asId(id), asked),
		call: (id, name, argument) => this.calls.ask(asId(id), asText(name), argument),
		part: (name) => PARTS[asText(name)],
		uuid: () => JSON.stringify(randomUUID()),
		url: (texts) => changedUrl(parsed(texts)),
		atob: (text) => fromBase64(asText(text)),
		btoa: (text) => toBase64(asText(text)),
	};
	#requests = 0;
	#reports = 0;
	#progress = Number.NEGATIVE_INFINITY;
	/** Requests without an answer yet. */
	#open = 0;
	#logBytes = 0;
	#unkept = 0;
	#wake: () => void = () => undefined;

	constructor(parts: HostCallsParts) {
		this.#parts = parts;
		this.calls = new CodeCalls((id, name, argument) => parts.call(id, name, argument));
	}

	/** Handles one call of the sandbox. @param texts JSON, if the caller is the prelude */
	serve(verb: string, [first = '', second = '', third = '']: string[]): string | undefined {
		return Object.hasOwn(this.#verbs, verb) ? this.#verbs[verb]?.(first, second, third) : undefined;
	}

	logs(): string[] {
		return this.#unkept === 0 ? this.#lines : [...this.#lines, `[${this.#unkept} more were not kept]`];
	}

	deliver(id: string, answer: HostAnswer): void {
		if (!this.calls.answered(id)) this.#open--;
		this.#due.push([id, JSON.stringify(readable(answer))]);
		this.#wake();
	}

	wake(): void {
		this.#wake();
	}

	/** The next answer or timer to deliver to the run. */
	next(): [id: string, text: string] | null {
		return this.#due.shift() ?? null;
	}

	/** Resolves when there is something to deliver or check; a run that waits for nothing has ended. */
	news(): Promise<void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		if (this.#timers.size + this.#open + this.calls.open > 0) this.#wake = resolve;
		else {
			this.#end({ type: 'stuck' });
			resolve();
		}
		return promise;
	}

	close(): void {
		for (const timer of this.#timers.values()) clearTimeout(timer);
		this.#timers.clear();
	}

	/** Notes the ending; only the first counts. */
	#end(ending: Ending): undefined {
		this.ending ??= ending;
	}

	#print(level: string, line: string): undefined {
		const text = `${level.slice(0, 8)}: ${line}`;
		const room = LIMITS.logBytes - this.#logBytes;
		const sizeBytes = Buffer.byteLength(text);
		if (this.#lines.length >= LIMITS.logLines || room <= 0) {
			this.#unkept++;
			return;
		}
		this.#logBytes += Math.min(sizeBytes, room);
		this.#lines.push(sizeBytes <= room ? text : `${Buffer.from(text).toString('utf8', 0, room)}…`);
	}

	/** Passes on what is new, up to a number of reports: nobody needs more of them. */
	#report(told: unknown): undefined {
		const progress = this.#reports < LIMITS.progress ? readProgress(told, this.#progress) : null;
		if (!progress) return;
		this.#reports++;
		this.#progress = progress.done;
		this.#parts.progress(progress);
	}

	/** @returns the fault, if any */
	#startTimer(id: string, delayMs: number): string | undefined {
		if (this.#timers.size >= LIMITS.timers) return JSON.stringify(`A run may wait for ${LIMITS.timers} timers at once.`);
		const fire = (): void => {
			this.#timers.delete(id);
			this.#due.push([id, '']);
			this.#wake();
		};
		this.#clearTimer(id);
		this.#timers.set(id, setTimeout(fire, Math.max(1, Math.min(delayMs || 0, MAX_TIMER_MS))));
		return undefined;
	}

	#clearTimer(id: string): undefined {
		clearTimeout(this.#timers.get(id));
		this.#timers.delete(id);
	}

	/** Sends a request; those beyond the limits do not reach the main thread. @returns the fault, if any */
	#send(id: string, asked: string): string | undefined {
		if (!this.mayRequest) return JSON.stringify('This run may not make requests.');
		if (++this.#requests > LIMITS.requests) return JSON.stringify(`A run may make ${LIMITS.requests} requests.`);
		if (this.#open >= LIMITS.parallelRequests) return JSON.stringify(`A run may make ${LIMITS.parallelRequests} requests at once.`);
		const request = readRequest(parsed(asked));
		if (typeof request === 'string') return JSON.stringify(request);
		this.#open++;
		this.#parts.request(id, request);
		return undefined;
	}
}

/** Converts an answer into the form that the prelude expects. */
function readable(answer: HostAnswer): object {
	if ('fault' in answer || 'json' in answer) return answer;
	const { body, charset, ...rest } = answer;
	return { ...rest, text: new TextDecoder(charset).decode(body) };
}

/** Parses JSON; undefined if it is invalid. */
function parsed(json: string): unknown {
	try {
		return JSON.parse(json);
	} catch {
		// Only code that calls the host without the prelude sends such text.
		return undefined;
	}
}

const asText = (json: string): string => {
	const value = parsed(json);
	return typeof value === 'string' ? value : '';
};

/** Reads an id. The prelude's are numbers; a long text is not accepted, since it would be kept in memory. */
function asId(json: string): string {
	const id = asText(json);
	return id.length <= MAX_ID_CHARS ? id : '';
}

function asFault(json: string): EngineFault {
	const value = parsed(json);
	const [name = 'Error', message, stack] = Array.isArray(value) ? value : [];
	return cutFault({ name, message, stack });
}
