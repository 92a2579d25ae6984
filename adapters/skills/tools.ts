// The tools as callers use them: list them, read one, and call one. The runner script of every skill calls through here.

import {
	type Call,
	failureOf,
	GatewayError,
	type Incoming,
	type Json,
	type JsonObject,
	type Reply,
	type RunResult,
	type ToolResult,
} from '../../core/index.ts';
import { callersSkills, fresh } from './discovery.ts';
import { toolAsJson } from './generated/skill.ts';

/** Answers with the skills that the caller may install, and the ways to do so. */
export async function overview(request: Incoming, call: Call): Promise<Reply> {
	const { skills, version } = await callersSkills(request, call);
	const { base } = request;
	const place = new URL(base).pathname.slice(1);
	const body = {
		name: call.gateway?.name ?? place,
		description: call.gateway?.description ?? null,
		reference: `@${place}`,
		version,
		install: { cli: `npx skills add ${base}`, git: `git clone ${base}.git` },
		skills: skills.map(({ name, description, archive, digest, files }) => ({
			...{ name, description, url: `${base}/skills/${name}/SKILL.md`, archive: `${base}/skills/${archive}`, digest },
			files: files.map(({ path, size }) => ({ path, size })),
		})),
		tools: `${base}/tools`,
	};
	return fresh(request, JSON.stringify(body, null, 2), 'application/json');
}

export async function listTools(request: Incoming, call: Call): Promise<Reply> {
	const tools = (await call.tools()).map(toolAsJson);
	return fresh(request, JSON.stringify({ tools }), 'application/json');
}

/** @throws tool_not_found */
export async function showTool({ params }: Incoming, call: Call): Promise<Reply> {
	const name = params['name'] ?? '';
	const tool = (await call.tools()).find((one) => one.name === name);
	if (!tool) throw new GatewayError('tool_not_found', `There is no tool "${name.slice(0, 128)}" here.`);
	return { status: 200, body: toolAsJson(tool) };
}

/** Runs a tool with the body as its arguments. @throws the errors of `Call.invoke` */
export async function runTool({ params, body }: Incoming, call: Call): Promise<Reply> {
	// Core parsed the body, so it is JSON; without one, there are no arguments.
	const result = await call.invoke({ name: params['name'] ?? '' }, (body ?? {}) as Json);
	return result.isError ? failure(result) : { status: 200, body: answer(result) };
}

const answer = ({ content, structured }: ToolResult): JsonObject => ({
	// Content blocks are JSON.
	content: content as Json[],
	...(structured !== undefined && { structured }),
});

/** A run that failed is told like every error, with what the tool said. */
function failure(result: RunResult): Reply {
	const texts = result.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
	const { code, status } = failureOf(result);
	const message = texts.join('\n') || 'The tool failed.';
	return { status, body: { success: false, message, error: code.toUpperCase(), statusCode: status, ...answer(result) } };
}
