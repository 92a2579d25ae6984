// The spans of messages, tools, models, agents and nodes, by the semantic conventions of GenAI and MCP. None has arguments, results or prompts.

import { ATTRIBUTES as A, OPERATIONS, SPANS } from './names.ts';
import { type Attributes, activeSpan, contextOf, errorTypeOf, type Span, type SpanDraft, spanned, type TraceContext } from './spans.ts';

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
	const attributes = { [A.toolType]: kind, [A.organizationId]: organization };
	if (around.tool !== tool) {
		const draft = { name: SPANS.tool(tool), attributes: { [A.operation]: OPERATIONS.tool, [A.tool]: tool, ...attributes } };
		return spanned(
			() => draft,
			(span) => toldOutcome(work, outcomeOf, (outcome) => span?.fail(outcome)),
		);
	}
	around.tool = null;
	around.set(attributes);
	// The span's error is that of the message.
	const tell = (outcome: string): void => around.set({ [A.outcome]: outcome });
	return toldOutcome(work, outcomeOf, tell).catch((thrown: unknown) => {
		tell(errorTypeOf(thrown));
		throw thrown;
	});
}

async function toldOutcome<T>(
	work: () => Promise<T>,
	outcomeOf: (result: T) => string | null,
	tell: (outcome: string) => void,
): Promise<T> {
	const result = await work();
	const outcome = outcomeOf(result);
	if (outcome) tell(outcome);
	return result;
}

export const chatDraft = ({ provider, model }: { provider: string; model: string }): SpanDraft => ({
	name: SPANS.chat(model),
	kind: 'client',
	attributes: { [A.operation]: OPERATIONS.chat, [A.provider]: provider, [A.requestModel]: model },
});

/** Tells the span of a call what the call used. */
export function tellUsage(
	usage: { inputTokens: number; outputTokens: number; cachedTokens: number; costMicroUsd: number | null } | null,
	model: string | null,
): void {
	const span = activeSpan();
	if (!span?.isRecorded || !usage) return;
	const { inputTokens, outputTokens, cachedTokens, costMicroUsd } = usage;
	span.set({
		...{ [A.inputTokens]: inputTokens, [A.outputTokens]: outputTokens, [A.cachedTokens]: cachedTokens },
		...(costMicroUsd !== null && { [A.costUsd]: costMicroUsd / 1e6 }),
		...(model !== null && { [A.responseModel]: model }),
	});
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
		...{ [A.operation]: OPERATIONS.agent, [A.agent]: name, [A.agentId]: agentId, [A.agentVersion]: String(revision) },
		...{ [A.organizationId]: organization, [A.runId]: runId, [A.runAttempt]: attempt },
	},
});

export const nodeDraft = ({ id, type }: { id: string; type: string }): SpanDraft => ({
	name: SPANS.node(type),
	attributes: { [A.node]: id, [A.nodeType]: type },
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

async function measured<T>(
	message: TracedMessage,
	work: () => Promise<T>,
	faultOf: FaultOf<T>,
	{ around, parent }: { around: Span; parent: TraceContext | null },
): Promise<T> {
	const startedMs = performance.now();
	let fault: string | null = null;
	try {
		return await spanned(
			() => messageDraft(message),
			async (span) => {
				try {
					const result = await work();
					fault = faultOf.result(result);
					return result;
				} catch (thrown) {
					fault = faultOf.thrown(thrown) ?? errorTypeOf(thrown);
					throw thrown;
				} finally {
					if (fault !== null) span?.fail(fault);
				}
			},
			parent,
		);
	} finally {
		if (around.isMeasured) {
			const labels = labelsOf(message);
			if (fault !== null) labels[A.errorType] = fault;
			around.measure('message', (performance.now() - startedMs) / 1000, labels);
		}
	}
}

function labelsOf({ method, version }: TracedMessage): Attributes {
	const labels: Attributes = { [A.mcpMethod]: method, [A.transport]: 'tcp' };
	if (version !== null) labels[A.mcpVersion] = version;
	return labels;
}

function messageDraft(message: TracedMessage): SpanDraft {
	const { method, target, id } = message;
	const { tool, prompt } = target;
	return {
		name: SPANS.message(method, tool ?? prompt ?? null),
		kind: 'server',
		...(tool !== undefined && { tool }),
		attributes: {
			...labelsOf(message),
			...(tool !== undefined && { [A.operation]: OPERATIONS.tool, [A.tool]: tool }),
			...(prompt !== undefined && { [A.prompt]: prompt }),
			// A text may be anything that a client thinks of.
			...(typeof id === 'number' && { [A.jsonrpcId]: String(id) }),
		},
	};
}
