// The jobs of a sandbox thread, one after the other. An idle thread waits outside of its event loop: waking it there takes half of what a
// small run takes, on both sides.

import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { CONTROL, type Job, type ToThread } from './messages.ts';

/** The number of jobs after which the event loop turns once, for what Node and V8 do there. */
const TURN_AFTER = 100;

type Message = Exclude<ToThread, Job>;

export class Jobs {
	readonly #port: MessagePort;
	readonly #control: Int32Array;
	/** Handles a message that is not a job. */
	readonly #onMessage: (message: Message) => void;
	/** Jobs that came while the event loop was turning. */
	readonly #came: Job[] = [];

	constructor(port: MessagePort, control: SharedArrayBuffer, onMessage: (message: Message) => void) {
		this.#port = port;
		this.#control = new Int32Array(control);
		this.#onMessage = onMessage;
		// While a run waits, the event loop brings its messages.
		port.on('message', (message: ToThread) => {
			const job = this.#sort(message);
			if (job) this.#came.push(job);
		});
	}

	/** Works for ever. @param work must not reject */
	async serve(work: (job: Job) => Promise<void>): Promise<never> {
		for (let count = 1; ; count++) {
			await work(this.#next());
			if (count % TURN_AFTER === 0) await new Promise((turned) => setImmediate(turned));
		}
	}

	/** Waits for the next job without leaving this function. */
	#next(): Job {
		for (;;) {
			const posted = Atomics.load(this.#control, CONTROL.posted);
			const job = this.#came.shift() ?? this.#receive();
			if (job) return job;
			Atomics.wait(this.#control, CONTROL.posted, posted);
		}
	}

	#receive(): Job | null {
		for (;;) {
			const received: { message: ToThread } | undefined = receiveMessageOnPort(this.#port);
			if (!received) return null;
			const job = this.#sort(received.message);
			if (job) return job;
		}
	}

	#sort(message: ToThread): Job | null {
		if (message.type === 'run' || message.type === 'check') return message;
		this.#onMessage(message);
		return null;
	}
}
