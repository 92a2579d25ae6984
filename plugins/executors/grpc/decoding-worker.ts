// The worker thread of decoding.ts: takes bytes, answers with JSON texts.

import { parentPort } from 'node:worker_threads';
import { asGatewayError, BoundedMap } from '../../../core/index.ts';
import { type Codec, createCodec } from './codec.ts';
import { type CodecSource, type Decoded, type DecodingTask, MAX_TEXT_CHARS } from './decoding.ts';

/** Few codecs are kept, since each may hold the types of a large API. */
const MAX_CODECS = 8;
const codecs = new BoundedMap<string, Codec>(MAX_CODECS);

parentPort?.on('message', (task: DecodingTask) => parentPort?.postMessage(decode(task)));

function decode({ id, source, messages }: DecodingTask): Decoded {
	try {
		const codec = codecOf(source);
		let leftChars = MAX_TEXT_CHARS;
		const texts = messages.map((bytes) => {
			const text = JSON.stringify(codec.decode(bytes));
			leftChars -= text.length;
			if (leftChars < 0) throw new RangeError('Too long.');
			return text;
		});
		return { id, texts };
	} catch (error) {
		return { id, fault: asGatewayError(error)?.message ?? `The answer is longer than ${MAX_TEXT_CHARS} characters as JSON.` };
	}
}

function codecOf(source: CodecSource): Codec {
	const key = `${source.service}/${source.method} ${source.descriptors}`;
	const codec = codecs.get(key) ?? createCodec(source);
	codecs.set(key, codec);
	return codec;
}
