// The `tool_call` node: runs one tool, stored, of a gateway, or defined here.

import {
	type ErrorDetail,
	GatewayError,
	hintsOf,
	invalid,
	isObject,
	type Json,
	type JsonObject,
	type NodeCall,
	type NodeReference,
	type NodeSaveContext,
	type PipelineNode,
	type RunResult,
} from '../../../core/index.ts';
import { config, type Definition, type ToolCallConfig } from './config.ts';

export default {
	kind: 'node',
	api: 1,
	name: 'tool_call',
	summary: 'Runs a tool of the organization or of a gateway, or one that is defined in the pipeline.',
	config,
	// The run of the tool is a step of its own, whose effect the tool decides.
	effect: 'none',
	uses: ({ toolId, gatewayId }) => usesOf(toolId, gatewayId),
	check: ({ tool }, _graph, context) => (tool ? faultsOf(tool, context) : []),
	async run(_input, given, call) {
		const { run, isRepeatable } = given.tool ? definedTool(given.tool, call) : await foundTool(given, call);
		const once = given.effect === 'auto' ? !isRepeatable : given.effect === 'once';
		// Filled in outside of the step, so that a placeholder without a value is no call that failed.
		const args = call.fill(given.arguments) as JsonObject;
		const result = await call.step('call', async () => asJson(await run(args)), { once });
		return { output: given.result === 'whole' ? result : dataOf(result) };
	},
} satisfies PipelineNode<ToolCallConfig>;

function usesOf(toolId: string | undefined, gatewayId: string | undefined): NodeReference[] {
	if (toolId !== undefined) return [{ kind: 'tool', id: toolId, path: '/toolId' }];
	return gatewayId === undefined ? [] : [{ kind: 'gateway', id: gatewayId, path: '/gatewayId' }];
}

const CONFIG = '/tool/executionConfig';

async function faultsOf(tool: Definition, { toolFaults }: NodeSaveContext): Promise<ErrorDetail[]> {
	const faults = await toolFaults(executed(tool), CONFIG);
	// The code lies beside the configuration.
	return faults.map((fault) => (fault.path === `${CONFIG}/code` ? { ...fault, path: '/tool/code' } : fault));
}

interface Runnable {
	run(args: JsonObject): Promise<RunResult>;
	isRepeatable: boolean;
}

async function foundTool({ toolId, toolName = '' }: ToolCallConfig, call: NodeCall): Promise<Runnable> {
	const { list, invoke } = await call.toolbox();
	const tool = list.find(({ id, name }) => (toolId === undefined ? name === toolName : id === toolId));
	if (!tool)
		throw toolId === undefined
			? invalid('/toolName', `The gateway has no tool "${toolName}".`)
			: new GatewayError('tool_not_found', 'The tool is not there, or not active.');
	return { run: (args) => invoke(tool.name, args), isRepeatable: hintsOf(tool.annotations).idempotentHint };
}

const definedTool = (tool: Definition, call: NodeCall): Runnable => ({
	run: (args) => call.execute(executed(tool), args),
	isRepeatable: onlyReads(tool),
});

const executed = ({ type, executionConfig, code }: Definition): { executor: string; config: JsonObject } => ({
	executor: type,
	config: code === undefined ? executionConfig : { ...executionConfig, code },
});

/** RFC 9110 §9.2.1, and QUERY. */
const SAFE = ['GET', 'HEAD', 'OPTIONS', 'QUERY'];

function onlyReads({ type, executionConfig: { method, query } }: Definition): boolean {
	if (type === 'http') return typeof method === 'string' && SAFE.includes(method.toUpperCase());
	return type === 'graphql' && typeof query === 'string' && !/\b(?:mutation|subscription)\b/.test(query);
}

const MAX_MESSAGE_CHARS = 1000;

/** @throws a failed run as an error, so that the policy of the node applies to it */
function asJson({ content, structured, isError, error }: RunResult): JsonObject {
	if (isError) throw new GatewayError(error?.code ?? 'upstream_failed', error?.message ?? failureIn(content));
	// Blocks are JSON; the interface has no index signature.
	return { content: content as unknown as Json[], ...(structured !== undefined && { structured }) };
}

const textsOf = (content: readonly Json[]): string[] =>
	content.flatMap((block) => (isObject(block) && block['type'] === 'text' && typeof block['text'] === 'string' ? [block['text']] : []));

function failureIn(content: RunResult['content']): string {
	const text = textsOf(content as unknown as Json[])
		.join('\n')
		.trim();
	return text === '' ? 'The tool failed.' : text.slice(0, MAX_MESSAGE_CHARS);
}

/** Returns the data of a result; of one without data its text, and of one with other blocks all of them. */
function dataOf({ content, structured }: JsonObject): Json {
	if (structured !== undefined) return structured;
	const blocks = content as Json[];
	const texts = textsOf(blocks);
	return texts.length === blocks.length ? texts.join('\n') : blocks;
}
