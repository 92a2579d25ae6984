// An event stream that a plugin writes itself, as a stream of Node: passed on as it is, and ended by the service when it must be.

import { PassThrough, type Readable } from 'node:stream';

export class PassedBody extends PassThrough {
	readonly #source: Readable;

	constructor(source: Readable) {
		super();
		this.#source = source;
		source.on('error', (error) => this.destroy(error));
		// A source that is destroyed without an error has not come to its end.
		source.once(
			'close',
			() => source.readableEnded || this.writableEnded || this.destroy(new Error('The stream was destroyed before its end.')),
		);
		source.pipe(this);
	}

	/** Ends the stream in order, whatever the source would still write. */
	finish(): void {
		if (this.writableEnded || this.destroyed) return;
		this.#source.unpipe(this);
		this.end();
		this.#source.destroy();
	}

	override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
		this.#source.destroy();
		callback(error);
	}
}
