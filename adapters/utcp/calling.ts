// Runs a tool: with its result alone as the answer, or in an envelope.

import type { Call, Incoming, Reply, RunResult } from '../../core/index.ts';
import { readArguments } from './arguments.ts';
import { failedRun } from './errors.ts';
import type { Config } from './manual.ts';
import { envelope, notesOf, rawReply } from './results.ts';

/** Answers with the result as the tool gave it. */
export async function callTool(request: Incoming, _config: Config, call: Call): Promise<Reply> {
	const result = await run(request, call);
	return result.isError ? failedRun(result) : withoutCaches(rawReply(result));
}

/** Answers with the result, how long it took and which tool gave it. */
export async function invokeTool(request: Incoming, _config: Config, call: Call): Promise<Reply> {
	const started = performance.now();
	const result = await run(request, call);
	if (result.isError) return failedRun(result);
	const duration = Math.round(performance.now() - started);
	const notes = notesOf(result);
	return withoutCaches(envelope(result, { duration, toolId: await idOf(request, call), ...(notes.length > 0 && { notes }) }));
}

const nameOf = ({ params }: Incoming): string => params['name'] ?? '';

async function run(request: Incoming, call: Call): Promise<RunResult> {
	const name = nameOf(request);
	return call.invoke({ name }, await readArguments(request, name, call));
}

/** Callers may run what they cannot list. */
async function idOf(request: Incoming, call: Call): Promise<string> {
	const name = nameOf(request);
	const tools = await call.published().catch(() => []);
	return tools.find((tool) => tool.name === name)?.id ?? name;
}

const withoutCaches = (reply: Reply): Reply => ({ ...reply, headers: { ...reply.headers, 'cache-control': 'no-store' } });
