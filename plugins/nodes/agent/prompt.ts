// The messages with which the loop begins.

import { type ChatMessage, GatewayError, isObject, type Json, type NodeCall } from '../../../core/index.ts';
import type { AgentConfig } from './config.ts';

const MOST_MESSAGES = 1000;

/** @throws validation_failed for a history that is none */
export function promptOf({ systemPrompt = '', prompt, history = null }: AgentConfig, call: NodeCall): ChatMessage[] {
	const system = textOf(call.fill(systemPrompt));
	return [
		...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
		...historyOf(call.fill(history)),
		{ role: 'user', content: textOf(call.fill(prompt)) },
	];
}

/** A value that is no text is shown as JSON; one that is not there is nothing, as it is within a text. */
const textOf = (value: Json): string => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value));

function historyOf(value: Json): ChatMessage[] {
	if (value === null) return [];
	if (!Array.isArray(value) || value.length > MOST_MESSAGES)
		throw new GatewayError('validation_failed', `"history" must be a list of at most ${MOST_MESSAGES} messages.`);
	return value.map((message, at) => {
		const { role, content } = isObject(message) ? message : {};
		if ((role !== 'user' && role !== 'assistant') || typeof content !== 'string')
			throw new GatewayError(
				'validation_failed',
				`"history", message ${at + 1}: it must be {"role": "user" or "assistant", "content": text}.`,
			);
		return { role, content };
	});
}
