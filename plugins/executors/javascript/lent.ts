// Runs code of clients for other plugins, which lend it functions: the sandbox that core hands on as `call.sandbox`.

import { asGatewayError, type Call, excerptOf, type Json, type SandboxTask, type ToolResult } from '../../../core/index.ts';
import { failed, toResult, withLogs } from './ending.ts';
import { lineOf, syntaxFault } from './faults.ts';
import { type CheckTask, type HostAnswer, LIMITS } from './messages.ts';
import type { Pool } from './pool.ts';

const MEGABYTE = 1024 * 1024;
const TOO_MUCH = `The answers to the calls of a run may have ${LIMITS.answerBytes / MEGABYTE} MB together.`;
const NO_REQUESTS = { fault: 'This run may not make requests.' };

/** @throws rate_limited; the reason of `call.signal` */
export async function runLent(pool: Pool, task: SandboxTask, call: Call, organization: string): Promise<ToolResult> {
	const { code, timeoutMs, memoryMb, namespace, maxCalls, parallelCalls } = task;
	const whose = { account: await call.account(), organization, code };
	const fault = await faultOf(pool, whose);
	if (fault !== null) return failed(fault);
	const run = {
		...{ ...whose, parameters: '{}', memoryBytes: memoryMb * MEGABYTE, mayRequest: false },
		calls: { namespace, most: maxCalls, parallel: parallelCalls },
	};
	const limits = { timeoutMs, signal: call.signal, request: async () => NO_REQUESTS, call: answering(task, call) };
	const { ending, logs } = await pool.run(run, limits);
	if (ending.type === 'cancelled') throw call.signal.reason;
	return withLogs(await toResult(ending, task), logs);
}

/** A sentence on what keeps the code from compiling; null if it does. */
export async function faultOf(pool: Pool, task: CheckTask): Promise<string | null> {
	const { ending } = await pool.check(task);
	if (ending.type === 'returned') return null;
	if (ending.type !== 'threw') return 'The code takes too much to compile: make it shorter or less nested.';
	const { line, column, message } = syntaxFault(ending.fault, task.code);
	const source = lineOf(task.code, line);
	return `Line ${line}, column ${column}: ${message}${source === '' ? '.' : `, in: ${source}`}`;
}

/**
 * Answers the calls of one run, which its thread has counted and measured (`code-calls.ts`). Their number is checked here once more, as a
 * fault of the engine could get past the thread.
 */
function answering({ answer, maxCalls, parallelCalls }: SandboxTask, { log }: Call) {
	let [count, running, answeredBytes] = [0, 0, 0];
	return async (name: string, argument: string, signal: AbortSignal): Promise<HostAnswer> => {
		if (++count > maxCalls || running >= parallelCalls) return { fault: `A run may make ${maxCalls} calls.` };
		if (answeredBytes >= LIMITS.answerBytes) return { fault: TOO_MUCH };
		running++;
		try {
			const json = JSON.stringify(await answer(name, JSON.parse(argument) as Json, signal));
			answeredBytes += Buffer.byteLength(json);
			return answeredBytes > LIMITS.answerBytes ? { fault: TOO_MUCH } : { json };
		} catch (thrown) {
			const error = asGatewayError(thrown);
			if (!error && !signal.aborted) log.error({ error: String(thrown) }, 'a call of code in the sandbox failed unexpectedly');
			return { fault: excerptOf(error?.message ?? 'The call failed.') };
		} finally {
			running--;
		}
	};
}
