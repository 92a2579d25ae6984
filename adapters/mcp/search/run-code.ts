// `run_code`: code of the client that calls tools, in the sandbox that core lends. Each call takes the path of any other: the caller's
// scopes and limits, checked arguments, a record of the run.

import {
	asGatewayError,
	type Call,
	GatewayError,
	invalid,
	isObject,
	type Json,
	type JsonObject,
	type RunResult,
	type ToolResult,
} from '../../../core/index.ts';
import { nearestNames } from './search-tools.ts';

export const BOUNDS = { timeoutMs: 30_000, memoryMb: 64, maxCalls: 100, parallelCalls: 10 };
const MAX_CODE_CHARS = 100_000;
const CANNOT_ASK = 'This tool asks the user before it runs, which code cannot wait for: call the tool itself.';

/** @throws validation_failed, rate_limited, not_implemented where no plugin lends a sandbox; the reason of the call's signal */
export async function runCode({ code }: JsonObject, call: Call): Promise<ToolResult> {
	if (typeof code !== 'string' || code.trim() === '') throw invalid('/code', '"code" is required: the body of an async function.');
	if (code.length > MAX_CODE_CHARS) throw invalid('/code', `"code" may have ${MAX_CODE_CHARS} characters.`);
	await assertMayExecute(call);
	let done = 0;
	const answer = async (name: string, argument: Json, signal: AbortSignal): Promise<Json> => {
		try {
			return await callTool(name, argument, call, signal);
		} finally {
			done += 1;
			call.progress(done, undefined, name);
		}
	};
	const { logs = [], ...result } = await call.sandbox({ language: 'javascript', code, namespace: 'tools', answer, ...BOUNDS });
	if (logs.length === 0) return result;
	return { ...result, content: [...result.content, { type: 'text', text: `Printed:\n${logs.join('\n')}` }] };
}

/** Refuses at once what every call would be refused for, with the challenge that `invoke` knows. @throws insufficient_scope */
async function assertMayExecute(call: Call): Promise<void> {
	if (!call.caller?.scopes.includes('tools:execute')) await call.invoke({ name: '' }, {});
}

/** @throws GatewayError, with a sentence for the code */
async function callTool(asked: string, argument: Json, call: Call, signal: AbortSignal): Promise<Json> {
	if (!isObject(argument)) throw invalid('', `${asked} takes one object of arguments.`);
	const inner = call.with({ signal, counted: true, ask: refuseToAsk, progress: () => undefined });
	const name = await meantBy(asked, call);
	try {
		return dataOf(name, await inner.invoke({ name }, argument));
	} catch (thrown) {
		throw await sentenceFor(thrown, asked, call);
	}
}

const refuseToAsk = async (): Promise<never> => {
	throw new GatewayError('forbidden', CANNOT_ASK);
};

/** A name as it is, or with `_` for what cannot be in an identifier, where that means one tool. */
async function meantBy(asked: string, call: Call): Promise<string> {
	if (!call.caller?.scopes.includes('tools:read')) return asked;
	const tools = await call.tools();
	if (tools.some(({ name }) => name === asked)) return asked;
	const alike = tools.filter(({ name }) => name.replaceAll(/[^A-Za-z0-9_$]/g, '_') === asked);
	return alike.length === 1 && alike[0] ? alike[0].name : asked;
}

/** The data of a whole result; its text where it has none, and all of its blocks where they are no texts. Code would not see that a part is no whole. */
function dataOf(name: string, { content, structured, isError, cut }: RunResult): Json {
	const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
	if (isError) throw new GatewayError('upstream_failed', `${name}: ${texts.join('\n')}`);
	if (cut !== undefined) throw new GatewayError('payload_too_large', `${name} ran, and its answer is too large for this gateway: ${cut}`);
	if (structured !== undefined) return structured;
	return texts.length === content.length ? texts.join('\n') : { content: content as Json[] };
}

async function sentenceFor(thrown: unknown, asked: string, call: Call): Promise<unknown> {
	const error = asGatewayError(thrown);
	if (error?.code === 'tool_not_found') return new GatewayError('tool_not_found', await missing(asked, call));
	if (!error || error.details.length < 2) return thrown;
	return new GatewayError(
		error.code,
		[error.message, ...error.details.slice(1).map(({ path, message }) => `${path} ${message}`)].join('; '),
	);
}

/** Says that a tool is not there, and which ones may be meant. */
export async function missing(name: string, call: Call): Promise<string> {
	const nearest = await nearestNames(name, call);
	const meant = nearest.length > 0 ? ` Did you mean ${nearest.join(', ')}?` : '';
	return `There is no tool "${name.slice(0, 128)}" here.${meant}`;
}
