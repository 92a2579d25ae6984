// The messages between the main thread and a sandbox's thread, and the limits that they keep.

/** The limits of one run. Its thread holds all that it says to them, before the main thread hears of it. */
export const LIMITS = {
	/** JSON text of the result, in bytes of UTF-8. */
	resultBytes: 1024 * 1024,
	/** Values in the result: the main thread must parse and write them without holding up others. */
	resultValues: 100_000,
	resultDepth: 128,
	/** A fault is cut to these three. */
	faultNameChars: 100,
	faultMessageChars: 4096,
	faultStackChars: 8192,
	logLines: 200,
	logBytes: 16 * 1024,
	timers: 100,
	requests: 20,
	parallelRequests: 5,
	urlBytes: 8 * 1024,
	/** Both a request and an answer have this many at most. */
	headers: 100,
	/** Names and values of a request together. The egress guard takes no more of an answer. */
	headerBytes: 16 * 1024,
	requestBytes: 1024 * 1024,
	/** The bodies of all answers together. */
	answerBytes: 5 * 1024 * 1024,
} as const;

/** What stands before the user's text in its first line, for the engine. */
export const BEFORE = '(async function (parameters) {';

/** Given to a thread when it starts. */
export interface ThreadData {
	module: WebAssembly.Module;
	/** 32-bit integers at the places of `CONTROL`. */
	control: SharedArrayBuffer;
}

/** `stop`: 1 asks the run that is under way to end. `part`: the thousandths of a core's time that the run may have. */
export const CONTROL = { stop: 0, part: 1, bytes: 8 } as const;
export const WHOLE_CORE = 1000;

export interface RunTask {
	/** Its shares are those that the run takes from. */
	account: string;
	/** Only runs of one follow each other in one instance of the engine. */
	organization: string;
	code: string;
	/** JSON text. */
	parameters: string;
	memoryBytes: number;
	mayRequest: boolean;
}

/** Code that is to be compiled only. */
export type CheckTask = Pick<RunTask, 'account' | 'organization' | 'code'>;

/** What the code asks for with its `fetch`. */
export interface GuestRequest {
	url: string;
	method: string;
	headers: Record<string, string>;
	body: string | null;
}

/** The answer to a request. `charset` is a name that TextDecoder knows: decoding megabytes is the thread's work, not the main thread's. */
export type HostAnswer =
	| { status: number; headers: Record<string, string>; url: string; body: Uint8Array<ArrayBuffer>; charset: string }
	| { fault: string };

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
	| { type: 'check'; task: CheckTask }
	| { type: 'answer'; id: string; answer: HostAnswer }
	| { type: 'stop' };

export type FromThread =
	| { type: 'ready' }
	| { type: 'request'; id: string; request: GuestRequest }
	/** The run has nothing to do but wait for a timer or an answer, or it goes on. A short wait is not told. */
	| { type: 'waiting'; isWaiting: boolean }
	/**
	 * `isUnsound`: the thread must not be used again. `isHeavy`: its memory had to be given back, which costs everybody.
	 * `computedMs`: of the processor, waiting not counted.
	 */
	| { type: 'ended'; ending: Ending; logs: string[]; isUnsound: boolean; isHeavy: boolean; computedMs: number };

/** Takes only texts from what an engine, or somebody in its name, says of a fault, and cuts each. */
export const cutFault = ({ name, message, stack }: Partial<Record<keyof EngineFault, unknown>>): EngineFault => ({
	name: beginning(name, LIMITS.faultNameChars),
	message: beginning(message, LIMITS.faultMessageChars),
	stack: beginning(stack, LIMITS.faultStackChars),
});

const beginning = (text: unknown, maxChars: number): string => (typeof text === 'string' ? text.slice(0, maxChars) : '');
