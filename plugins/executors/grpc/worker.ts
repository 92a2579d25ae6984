// The worker of thread.ts: takes messages and answers with JSON texts, or the other way round.

import { parentPort } from 'node:worker_threads';
import { BoundedMap, type Json } from '../../../core/index.ts';
import { type Codec, createCodec } from './codec.ts';
import { detailsIn } from './details.ts';
import { type Answer, type CodecSource, faultIn, MAX_TEXT_CHARS, type Made, type Task } from './thread.ts';

/** Few codecs are kept, since each may hold the types of a large API. */
const MAX_CODECS = 8;
const codecs = new BoundedMap<string, Codec>(MAX_CODECS);

parentPort?.on('message', (task: Task) => parentPort?.postMessage(answerTo(task)));

function answerTo(task: Task): Answer {
	try {
		return make(task, codecOf(task.source));
	} catch (error) {
		const isAnswer = 'messages' in task;
		const message = `The ${isAnswer ? 'answer' : 'request'} is longer than ${MAX_TEXT_CHARS} characters as JSON.`;
		return { fault: faultIn(error) ?? { code: isAnswer ? 'upstream_failed' : 'validation_failed', message, details: [] } };
	}
}

function make(task: Task, codec: Codec): Made {
	switch (task.type) {
		case 'decode':
			return { texts: textsOf(task.messages, (bytes) => codec.decode(bytes)), bytes: [] };
		case 'details':
			return { texts: task.messages.flatMap((bytes) => detailsIn(bytes, codec.types)), bytes: [] };
		case 'encode':
			return { texts: [], bytes: task.requests.map(({ json, at }) => codec.encode(json, at)) };
		case 'show':
			return { texts: textsOf(task.requests, ({ json, at }) => codec.show(json, at)), bytes: [] };
	}
}

/** @throws RangeError when they are too long together */
function textsOf<T>(items: readonly T[], jsonOf: (item: T) => Json): string[] {
	let leftChars = MAX_TEXT_CHARS;
	return items.map((item) => {
		const text = JSON.stringify(jsonOf(item));
		leftChars -= text.length;
		if (leftChars < 0) throw new RangeError('Too long.');
		return text;
	});
}

function codecOf(source: CodecSource): Codec {
	const key = `${source.service}/${source.method} ${source.descriptors}`;
	const codec = codecs.get(key) ?? createCodec(source);
	codecs.set(key, codec);
	return codec;
}
