// A redacting thread: hides what patterns find. It needs nothing of the checks, so it starts in a fraction of their time.

import { parentPort } from 'node:worker_threads';
import type { CheckTask, FromThread } from './messages.ts';
import { hideMatches } from './redact.ts';

if (!parentPort) throw new Error('worker-redactions runs as a worker thread only.');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);

port.on('message', ({ texts, patterns, maxChars }: Extract<CheckTask, { type: 'redact' }>) => {
	try {
		send({ type: 'redacted', texts: texts.map((text) => hideMatches(text, patterns, maxChars)) });
	} catch (error) {
		send({ type: 'crashed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
	}
});

send({ type: 'ready' });
