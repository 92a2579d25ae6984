// The `javascript` executor runs users' code in a sandbox that has no access to its host and is stopped on time.

import { GatewayError, invalid, type ToolExecutor, type ToolResult } from '../../../core/index.ts';
import { config, type JavascriptConfig } from './config.ts';
import { toResult, withLogs } from './ending.ts';
import { faultOf, runLent } from './lent.ts';
import type { Progress } from './messages.ts';
import { createOutbound } from './outbound.ts';
import { createPool } from './pool.ts';
import type { Ended } from './thread.ts';

/** The pool of this process, whose memory and cores it divides. It starts no thread before the first run. */
const pool = createPool();
const MEGABYTE = 1024 * 1024;

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
		const fault = await faultOf(pool, { account: await context.account(), organization: context.organizationId, code });
		if (fault !== null) throw invalid('/code', fault);
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
		const progress = ({ done, total, message }: Progress): void => call.progress(done, total, message);
		const ended = await pool.run(task, { timeoutMs, signal: call.signal, request: createOutbound(call, codeMayFetch), progress });
		if (ended.ending.type === 'cancelled') throw call.signal.reason;
		const result = await toResult(ended.ending, { ...given, code });
		return withLogs(codeMayFetch || !lacksFetch(ended.ending) ? result : explained(result), ended.logs);
	},
	sandbox: { language: 'javascript', run: (task, call, organizationId) => runLent(pool, task, call, organizationId) },
} satisfies ToolExecutor<JavascriptConfig>;

/** Nothing else would tell the author of the code that `fetch` can be allowed. */
const NO_FETCH = 'The organization does not allow code to fetch: owners and admins can change that (settings.codeMayFetch).';

const lacksFetch = (ending: Ended['ending']): boolean => ending.type === 'threw' && ending.fault.message === "'fetch' is not defined";

const explained = (result: ToolResult): ToolResult => ({ ...result, content: [...result.content, { type: 'text', text: NO_FETCH }] });
