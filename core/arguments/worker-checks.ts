// A checking thread: compiles schemas and checks arguments that would block the main thread. It has no data of tenants and no secrets,
// and it may be killed at any time.

import { parentPort } from 'node:worker_threads';
import { asGatewayError, invalid } from '../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../contract/nouns.ts';
import { SizedCache } from '../kit/sized-cache.ts';
import { type ArgumentCheck, compileOutput, compileSchema, type OutputCheck, type Reading, WRITTEN } from './compile.ts';
import { withoutFilled } from './filled.ts';
import { flatten } from './flat.ts';
import { assertBounded } from './looks.ts';
import type { CheckAnswer, CheckTask, FromThread, SchemaSource } from './messages.ts';
import { bytesOf, measureSize } from './size.ts';

const CACHE_BYTES = 64 * 1024 * 1024;
const POINTER = '/parameters';

if (!parentPort) throw new Error('worker-checks runs as a worker thread only.');
const port = parentPort;
const send = (message: FromThread): void => port.postMessage(message);
const compiled = new SizedCache<ArgumentCheck>(CACHE_BYTES);
const outputs = new SizedCache<OutputCheck>(CACHE_BYTES / 4);

function answer(task: Exclude<CheckTask, { type: 'redact' }>): CheckAnswer {
	if (task.type === 'admit') {
		assertBounded(task.schema, POINTER);
		compileSchema(task.schema, WRITTEN);
		return { type: 'admitted' };
	}
	if (task.type === 'output') return answerOutput(task);
	const { key, schema, reading, args } = task;
	const known = compiled.get(key);
	if (!known && schema === null) return { type: 'unknown' };
	const check = known ?? remember(key, schema ? read(schema) : {}, reading);
	// The main thread serialised an object.
	const value = JSON.parse(args) as JsonObject;
	const faults = check(value);
	const checked = faults.length === 0 ? JSON.stringify(value) : args;
	return { type: 'checked', faults, args: checked === args ? null : checked };
}

function answerOutput({ key, schema, data }: Extract<CheckTask, { type: 'output' }>): CheckAnswer {
	const known = outputs.get(key);
	if (!known && schema === null) return { type: 'unknown' };
	const check = known ?? compileOutput(schema?.schema ?? {});
	if (!known && schema) {
		outputs.put(key, check, bytesOf(measureSize(schema.schema, '/outputSchema')));
		send({ type: 'compiled' });
	}
	return { type: 'checked', faults: check(JSON.parse(data) as Json), args: null };
}

function read(source: SchemaSource): JsonSchema {
	if ('schema' in source) return source.schema;
	// The store keeps only schemas in this column.
	const whole = withoutFilled(JSON.parse(source.text) as JsonSchema, source.without);
	if (source.flat === null) return whole;
	const flat = flatten(whole, source.flat);
	if (!flat) throw invalid(POINTER, 'The members of the body cannot be moved beside the other arguments.');
	return flat.parameters;
}

function remember(key: string, schema: JsonSchema, reading: Reading): ArgumentCheck {
	const { check } = compileSchema(schema, reading);
	compiled.put(key, check, bytesOf(measureSize(schema, POINTER)));
	send({ type: 'compiled' });
	return check;
}

port.on('message', (task: Parameters<typeof answer>[0]) => {
	try {
		send(answer(task));
	} catch (error) {
		const known = asGatewayError(error);
		if (known) send({ type: 'refused', code: known.code, message: known.message, details: known.details });
		else send({ type: 'crashed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
	}
});

send({ type: 'ready' });
