// The `javascript` executor runs users' code in a sandbox that has no access to its host and is stopped on time.

import { excerptOf, GatewayError, invalid, jsonResult, type ToolExecutor, type ToolResult } from '../../../core/index.ts';
import { config, type JavascriptConfig } from './config.ts';
import { describeFault, lineOf, syntaxFault } from './faults.ts';
import { createOutbound } from './outbound.ts';
import { createPool } from './pool.ts';
import type { Ended } from './thread.ts';

/** The pool of this process, whose memory and cores it divides. It starts no thread before the first run. */
const pool = createPool();
const MEGABYTE = 1024 * 1024;
const MAX_LINE_CHARS = 4096;

export default {
	kind: 'executor',
	api: 1,
	name: 'javascript',
	creatable: true,
	summary: 'Runs code in a sandbox: it gets the arguments as `parameters` and returns the result.',
	spec: 'ECMAScript 2023, in QuickJS',
	config,
	async check({ code }, context) {
		if (code === undefined)
			throw invalid('/code', '"code" is required: the body of a function of `parameters`, such as return parameters.a + 1');
		const { organizationId: organization } = context;
		const { ending } = await pool.check({ account: await context.account(), organization, code });
		if (ending.type === 'returned') return;
		if (ending.type !== 'threw') throw invalid('/code', 'The code takes too much to compile: make it shorter or less nested.');
		const { line, column, message } = syntaxFault(ending.fault, code);
		const source = lineOf(code, line);
		throw invalid('/code', `Line ${line}, column ${column}: ${message}${source === '' ? '.' : `, in: ${source}`}`);
	},
	async execute(args, given, call) {
		const { code, timeoutMs, memoryMb } = given;
		if (code === undefined) throw new GatewayError('validation_failed', 'The tool has no code.');
		const organization = call.tool?.organizationId;
		if (organization === undefined) throw new Error('javascript: a run belongs to a tool, and there is none in this call.');
		const [{ codeMayFetch }, account] = await Promise.all([call.settings(), call.account()]);
		const task = {
			account,
			organization,
			code,
			parameters: JSON.stringify(args),
			memoryBytes: memoryMb * MEGABYTE,
			mayRequest: codeMayFetch,
		};
		const ended = await pool.run(task, { timeoutMs, signal: call.signal, request: createOutbound(call, codeMayFetch) });
		if (ended.ending.type === 'cancelled') throw call.signal.reason;
		const result = await toResult(ended.ending, given, code);
		return withLogs(codeMayFetch || !lacksFetch(ended.ending) ? result : explained(result), ended.logs);
	},
} satisfies ToolExecutor<JavascriptConfig>;

async function toResult(ending: Ended['ending'], { timeoutMs, memoryMb }: JavascriptConfig, code: string): Promise<ToolResult> {
	if (ending.type === 'returned') return answerOf(ending.json);
	if (ending.type === 'threw') return failed(describeFault(ending.fault, code));
	if (ending.type === 'unusable') return failed(`The result ${excerptOf(ending.message)}.`);
	if (ending.type === 'late') return failed(`The code took longer than ${timeoutMs} ms, and was stopped.`);
	if (ending.type === 'stuck') return failed('The code waits for a promise that nothing will settle.');
	return failed(`The code was stopped: it took more memory than ${memoryMb} MB, or more than the sandbox can do.`);
}

const failed = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/** Nothing else would tell the author of the code that `fetch` can be allowed. */
const NO_FETCH = 'The organization does not allow code to fetch: owners and admins can change that (settings.codeMayFetch).';

const lacksFetch = (ending: Ended['ending']): boolean => ending.type === 'threw' && ending.fault.message === "'fetch' is not defined";

const explained = (result: ToolResult): ToolResult => ({ ...result, content: [...result.content, { type: 'text', text: NO_FETCH }] });

/** Turns JSON into a result; a string is shown without quotes. */
async function answerOf(json: string): Promise<ToolResult> {
	const result = await jsonResult(json);
	if (typeof result.structured !== 'string') return result;
	return { content: [{ type: 'text', text: result.structured }], structured: result.structured };
}

const withLogs = (result: ToolResult, logs: string[]): ToolResult =>
	logs.length === 0 ? result : { ...result, logs: logs.map((line) => excerptOf(line, MAX_LINE_CHARS)) };
