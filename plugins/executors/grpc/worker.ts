// The worker of thread.ts: takes messages, answers with JSON texts.

import { parentPort } from 'node:worker_threads';
import { BoundedMap } from '../../../core/index.ts';
import { type Codec, createCodec } from './codec.ts';
import { detailsIn } from './details.ts';
import { type Answer, type CodecSource, faultIn, MAX_TEXT_CHARS, type Task } from './thread.ts';

/** Few codecs are kept, since each may hold the types of a large API. */
const MAX_CODECS = 8;
const codecs = new BoundedMap<string, Codec>(MAX_CODECS);

parentPort?.on('message', (task: Task) => parentPort?.postMessage(answerTo(task)));

function answerTo({ type, source, messages }: Task): Answer {
	try {
		const codec = codecOf(source);
		if (type === 'details') return { texts: messages.flatMap((bytes) => detailsIn(bytes, codec.types)) };
		let leftChars = MAX_TEXT_CHARS;
		const texts = messages.map((bytes) => {
			const text = JSON.stringify(codec.decode(bytes));
			leftChars -= text.length;
			if (leftChars < 0) throw new RangeError('Too long.');
			return text;
		});
		return { texts };
	} catch (error) {
		const message = `The answer is longer than ${MAX_TEXT_CHARS} characters as JSON.`;
		return { fault: faultIn(error) ?? { code: 'upstream_failed', message, details: [] } };
	}
}

function codecOf(source: CodecSource): Codec {
	const key = `${source.service}/${source.method} ${source.descriptors}`;
	const codec = codecs.get(key) ?? createCodec(source);
	codecs.set(key, codec);
	return codec;
}
