// The messages with which the loop begins.

import { type ChatMessage, historyOf, type NodeCall, promptText } from '../../../core/index.ts';
import type { AgentConfig } from './config.ts';

/** @throws validation_failed for a history that is none */
export function promptOf({ systemPrompt = '', prompt, history = null }: AgentConfig, call: NodeCall): ChatMessage[] {
	const system = promptText(call.fill(systemPrompt));
	return [
		...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
		...historyOf(call.fill(history)),
		{ role: 'user', content: promptText(call.fill(prompt)) },
	];
}
