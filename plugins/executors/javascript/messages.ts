// The messages between the main thread and a sandbox thread, and their limits.

/** The limits of one run. Its thread enforces them before anything reaches the main thread. */
export const LIMITS = {
	/** Size of the result as JSON text in UTF-8. */
	resultBytes: 1024 * 1024,
	/** Values in the result, which the main thread must parse and write without blocking. */
	resultValues: 100_000,
	resultDepth: 128,
	/** Name, message and stack of a fault are cut to these lengths. */
	faultNameChars: 100,
	faultMessageChars: 4096,
	faultStackChars: 8192,
	logLines: 200,
	logBytes: 16 * 1024,
	timers: 100,
	/** Reports of progress; further ones are dropped. */
	progress: 500,
	progressChars: 500,
	requests: 20,
	parallelRequests: 5,
	urlBytes: 8 * 1024,
	/** Most headers of a request, and of an answer. */
	headers: 100,
	/** Size of all header names and values of a request. The egress guard has the same limit for answers. */
	headerBytes: 16 * 1024,
	requestBytes: 1024 * 1024,
	callNameChars: 200,
	/** Size of the bodies of all answers together. */
	answerBytes: 5 * 1024 * 1024,
} as const;

/** The text that precedes the user's in its first line, as the engine sees it. */
export const BEFORE = '(async function (parameters) {';

/** The most instances of the engine that a thread keeps, each for one organization. */
export const KEPT_INSTANCES = 4;

/** The `workerData` of a thread. */
export interface ThreadData {
	module: WebAssembly.Module;
	/** 32-bit integers at the indexes of `CONTROL`. */
	control: SharedArrayBuffer;
	/** The folder of the service's compile cache, with which a thread starts in a third of the time; null without one. */
	compileCache: string | null;
}

/**
 * Indexes into the control buffer. `stop`: 1 asks the current run to end. `part`: thousandths of a core's time that the run may have. `posted`:
 * the number of messages to the thread, for which an idle one waits.
 */
export const CONTROL = { stop: 0, part: 1, posted: 2, bytes: 12 } as const;
export const WHOLE_CORE = 1000;

export interface RunTask {
	/** The account whose shares the run uses. */
	account: string;
	/** An instance of the engine serves only runs of one organization. */
	organization: string;
	code: string;
	/** The arguments as JSON text. */
	parameters: string;
	memoryBytes: number;
	mayRequest: boolean;
	/** The calls that the code may make; absent for none. */
	calls?: CallBounds;
}

/** The calls of a run, as functions of an object of this name. */
export interface CallBounds {
	namespace: string;
	/** The most calls, and of them at once: others wait. */
	most: number;
	parallel: number;
}

/** Code that is compiled but not run. */
export type CheckTask = Pick<RunTask, 'account' | 'organization' | 'code'>;

/** A request that code makes by `fetch`. */
export interface SandboxRequest {
	url: string;
	method: string;
	headers: Record<string, string>;
	body: string | null;
}

/** A report of code about its progress. */
export interface Progress {
	done: number;
	total?: number;
	message?: string;
}

/** The answer to a request. `charset` is a name that TextDecoder knows: decoding megabytes is the thread's work, not the main thread's. */
export type HostAnswer =
	| { status: number; headers: Record<string, string>; url: string; body: Uint8Array<ArrayBuffer>; charset: string }
	/** The answer to a call. */
	| { json: string }
	| { fault: string };

/** A fault as the engine reports it: lines and columns are those of the wrapped text, not of the user's. */
export interface EngineFault {
	name: string;
	message: string;
	stack: string;
}

/** How a run ended, from the thread's point of view. */
export type Ending =
	| { type: 'returned'; json: string }
	/** The code threw, or in a check does not compile. */
	| { type: 'threw'; fault: EngineFault }
	/** The result is invalid; `message` is the rest of a sentence that begins with "The result". */
	| { type: 'unusable'; message: string }
	/** The code waits for a promise that nothing will settle. */
	| { type: 'stuck' }
	/** The run was asked to end. */
	| { type: 'stopped' }
	/** The engine itself failed, for lack of memory or by a fault of its own. */
	| { type: 'broken' };

export type ToThread =
	| { type: 'run'; task: RunTask }
	| { type: 'check'; task: CheckTask }
	| { type: 'answer'; id: string; answer: HostAnswer }
	| { type: 'stop' };

/** A message that gives the thread something to do, of which it has one at a time. */
export type Job = Extract<ToThread, { type: 'run' | 'check' }>;

export type FromThread =
	| { type: 'ready' }
	| { type: 'request'; id: string; request: SandboxRequest }
	| { type: 'progress'; progress: Progress }
	/** A call of a function that was lent. `argument` is JSON, of bounded size and depth. */
	| { type: 'call'; id: string; name: string; argument: string }
	/** The run only waits for a timer or an answer, or it goes on. A short wait is not reported. */
	| { type: 'waiting'; isWaiting: boolean }
	/**
	 * The run has ended. `isUnsound`: the thread must not be used again. `isHeavy`: its memory had to be freed, which slows all others.
	 * `computedMs`: CPU time, without waiting.
	 */
	| { type: 'ended'; ending: Ending; logs: string[]; isUnsound: boolean; isHeavy: boolean; computedMs: number };

/** Takes the texts of a fault, which code may have forged, and cuts each. */
export const cutFault = ({ name, message, stack }: Partial<Record<keyof EngineFault, unknown>>): EngineFault => ({
	name: beginning(name, LIMITS.faultNameChars),
	message: beginning(message, LIMITS.faultMessageChars),
	stack: beginning(stack, LIMITS.faultStackChars),
});

const beginning = (text: unknown, maxChars: number): string => (typeof text === 'string' ? text.slice(0, maxChars) : '');
