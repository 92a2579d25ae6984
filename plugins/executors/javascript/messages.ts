// What the main thread and a sandbox's thread say to each other, and the limits that both keep.

/** Of one run. */
export const LIMITS = {
	/** JSON text of the result, in bytes of UTF-8. */
	resultBytes: 1024 * 1024,
	/** Values in the result: the main thread must parse and write them without holding up others. */
	resultValues: 100_000,
	resultDepth: 128,
	logLines: 200,
	logBytes: 16 * 1024,
	timers: 100,
	requests: 20,
	parallelRequests: 5,
	/** Bodies of all answers together. */
	answerBytes: 5 * 1024 * 1024,
	requestBytes: 1024 * 1024,
} as const;

/** What stands before the user's text in its first line, for the engine. */
export const BEFORE = '(async function (parameters) {';

/** Given to a thread when it starts. */
export interface ThreadData {
	module: WebAssembly.Module;
	/** One 32-bit integer; 1 asks the run that is under way to end. */
	stop: SharedArrayBuffer;
}

export interface RunTask {
	/** The organization: only runs of one follow each other in one instance of the engine. */
	owner: string;
	code: string;
	/** JSON text. */
	parameters: string;
	memoryBytes: number;
	mayRequest: boolean;
}

/** What the code asks for with its `fetch`. */
export interface GuestRequest {
	url: string;
	method: string;
	headers: Record<string, string>;
	body: string | null;
}

export type GuestAnswer = { status: number; headers: Record<string, string>; url: string; text: string } | { fault: string };

/** As the engine tells it: lines and columns of the text that it was given, not of the user's. */
export interface EngineFault {
	name: string;
	message: string;
	stack: string;
}

/** How a run ended, as the thread knows it. */
export type Ending =
	| { type: 'returned'; json: string }
	/** The code threw; of a task to check, it does not compile. */
	| { type: 'threw'; fault: EngineFault }
	/** It returned what cannot be an answer: the rest of a sentence that begins with "The result". */
	| { type: 'unusable'; message: string }
	/** It waits for what nothing will settle. */
	| { type: 'stuck' }
	/** It was asked to end. */
	| { type: 'stopped' }
	/** The engine itself gave up, for memory or for a fault of its own. */
	| { type: 'broken' };

export type ToThread =
	| { type: 'run'; task: RunTask }
	| { type: 'check'; code: string }
	| { type: 'answer'; id: string; answer: GuestAnswer }
	| { type: 'stop' };

export type FromThread =
	| { type: 'ready' }
	| { type: 'request'; id: string; request: GuestRequest }
	/**
	 * `isUnsound`: the thread must not be used again. `isHeavy`: its memory had to be given back, which costs everybody.
	 * `computedMs`: of the processor, waiting not counted.
	 */
	| { type: 'ended'; ending: Ending; logs: string[]; isUnsound: boolean; isHeavy: boolean; computedMs: number };
