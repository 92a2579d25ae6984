// The spans of messages, tools, models, agents and nodes, by the semantic conventions of GenAI and MCP. None has arguments, results or prompts.

import { ATTRIBUTES as A, OPERATIONS, SPANS } from './names.ts';
import {
	type Attributes,
	activeSpan,
	contextOf,
	ended,
	errorTypeOf,
	type Span,
	type SpanDraft,
	spanned,
	type TraceContext,
	within,
} from './spans.ts';

/**
 * Runs a tool in its span: that of the message which calls it, with the attributes of both, since a second one would tell the same (semantic
 * conventions of MCP: "compatible with GenAI execute_tool spans"); else one of its own.
 * @param outcomeOf the code of a result that tells a failure; null for others
 */
export function tracedTool<T>(
	{ tool, kind, organization }: { tool: string; kind: string; organization: string },
	work: () => Promise<T>,
	outcomeOf: (result: T) => string | null,
): Promise<T> {
	const around = activeSpan();
	if (!around?.isRecorded) return work();
	if (around.tool === tool) {
		around.tool = null;
		around.set({ toolType: kind, organizationId: organization });
		return toldOutcome(around, work, outcomeOf);
	}
	const attributes = { operation: OPERATIONS.tool, tool, toolType: kind, organizationId: organization };
	return spanned(
		() => ({ name: SPANS.tool(tool), attributes }),
		async (span) => {
			const result = await work();
			const outcome = outcomeOf(result);
			if (outcome) span?.fail(outcome);
			return result;
		},
	);
}

/** Tells the span of a message the outcome of its tool. The span's error is that of the message. */
function toldOutcome<T>(span: Span, work: () => Promise<T>, outcomeOf: (result: T) => string | null): Promise<T> {
	return ended(
		work,
		(result) => {
			const outcome = outcomeOf(result);
			if (outcome) span.set({ outcome });
		},
		(thrown) => span.set({ outcome: errorTypeOf(thrown) }),
	);
}

export const chatDraft = ({ provider, model }: { provider: string; model: string }): SpanDraft => ({
	name: SPANS.chat(model),
	kind: 'client',
	attributes: { operation: OPERATIONS.chat, provider, requestModel: model },
});

/** Tells the span of a call what the call used. */
export function tellUsage(
	usage: { inputTokens: number; outputTokens: number; cachedTokens: number; costMicroUsd: number | null } | null,
	model: string | null,
): void {
	const span = activeSpan();
	if (!span?.isRecorded || !usage) return;
	const { inputTokens, outputTokens, cachedTokens, costMicroUsd } = usage;
	const costUsd = costMicroUsd === null ? undefined : costMicroUsd / 1e6;
	span.set({ inputTokens, outputTokens, cachedTokens, costUsd, responseModel: model ?? undefined });
}

export interface AgentSpan {
	agentId: string;
	name: string;
	revision: number;
	organization: string;
	runId: string;
	attempt: number;
}

export const agentDraft = ({ agentId, name, revision, organization, runId, attempt }: AgentSpan): SpanDraft => ({
	name: SPANS.agent(name),
	attributes: {
		...{ operation: OPERATIONS.agent, agent: name, agentId, agentVersion: String(revision) },
		...{ organizationId: organization, runId, runAttempt: attempt },
	},
});

export const nodeDraft = ({ id, type }: { id: string; type: string }): SpanDraft => ({
	name: SPANS.node(type),
	attributes: { node: id, nodeType: type },
});

/** A message of JSON-RPC inside a request, as a transport read it. */
export interface TracedMessage {
	/** The method, which is one that the transport knows. */
	method: string;
	/** The name of the tool or the prompt that it is about. */
	target: { tool?: string; prompt?: string };
	/** The protocol's version, which is one that the transport knows. */
	version: string | null;
	id: unknown;
	/** The `_meta` of its params. */
	meta: object;
}

/**
 * Answers a message in its span, and measures it. Its parent is the context in `_meta`, and the request is linked then (SEP-414).
 * @param faultOf the code of an error, and that of a result that tells a failure; null for others
 */
export function tracedMessage<T>(message: TracedMessage, work: () => Promise<T>, faultOf: FaultOf<T>): Promise<T> {
	const around = activeSpan();
	if (!around) return work();
	const parent = contextOf(message.meta);
	return around.isRecorded || around.isMeasured || parent ? measured(message, work, faultOf, { around, parent }) : work();
}

interface FaultOf<T> {
	thrown(error: unknown): string | null;
	result(result: T): string | null;
}

function measured<T>(
	message: TracedMessage,
	work: () => Promise<T>,
	faultOf: FaultOf<T>,
	{ around, parent }: { around: Span; parent: TraceContext | null },
): Promise<T> {
	const startedMs = performance.now();
	const span = around.isRecorded || parent ? around.child(messageDraft(message), parent) : null;
	const end = (fault: string | null): void => {
		if (fault !== null) span?.fail(fault);
		span?.end();
		if (!around.isMeasured) return;
		const labels: Attributes = { [A.mcpMethod]: message.method, [A.transport]: 'tcp' };
		if (message.version !== null) labels[A.mcpVersion] = message.version;
		if (fault !== null) labels[A.errorType] = fault;
		around.measure('message', (performance.now() - startedMs) / 1000, labels);
	};
	return ended(
		() => (span ? within(span, work) : work()),
		(result) => end(faultOf.result(result)),
		(thrown) => end(faultOf.thrown(thrown) ?? errorTypeOf(thrown)),
	);
}

function messageDraft({ method, version, target: { tool, prompt }, id }: TracedMessage): SpanDraft {
	const attributes = {
		mcpMethod: method,
		transport: 'tcp',
		mcpVersion: version ?? undefined,
		operation: tool === undefined ? undefined : OPERATIONS.tool,
		tool,
		prompt,
		// A text may be anything that a client thinks of.
		jsonrpcId: typeof id === 'number' ? String(id) : undefined,
	};
	const name = SPANS.message(method, tool ?? prompt ?? null);
	return tool === undefined ? { name, kind: 'server', attributes } : { name, kind: 'server', attributes, tool };
}
