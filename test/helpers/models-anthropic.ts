// The wire of Anthropic's messages, for the contract of providers.

import { CALLS, type ModelBehaviour, USAGE } from '../../testing/provider.ts';
import { textIn, type Wire } from './models.ts';

const { inputTokens, outputTokens, cachedTokens } = USAGE;

const begin = JSON.stringify({
	type: 'message_start',
	message: {
		...{ id: 'm', type: 'message', role: 'assistant', model: 'small-2026', content: [], stop_reason: null, stop_sequence: null },
		usage: { input_tokens: inputTokens - cachedTokens, cache_read_input_tokens: cachedTokens, output_tokens: 1 },
	},
});
const open = (index: number, content_block: object): string => JSON.stringify({ type: 'content_block_start', index, content_block });
const piece = (index: number, delta: object): string => JSON.stringify({ type: 'content_block_delta', index, delta });
const close = (index: number): string => JSON.stringify({ type: 'content_block_stop', index });
const text = (more: string): string => piece(0, { type: 'text_delta', text: more });
const finish = (stop_reason: string): string[] => [
	JSON.stringify({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: outputTokens } }),
	JSON.stringify({ type: 'message_stop' }),
];

function toolEvents({ id, name, arguments: given }: (typeof CALLS)[number], index: number): string[] {
	const half = Math.ceil(given.length / 2);
	const pieces = [given.slice(0, half), given.slice(half)].map((partial_json) => piece(index, { type: 'input_json_delta', partial_json }));
	return [open(index, { type: 'tool_use', id, name, input: {} }), ...pieces, close(index)];
}

function eventsOf(behaviour: ModelBehaviour, { messages }: { messages: { content: unknown }[] }): string[] {
	if (behaviour === 'nonsense') return ['{"type": "message_start", "mess'];
	if (behaviour === 'tools') return [begin, ...CALLS.flatMap(toolEvents), ...finish('tool_use')];
	const started = [begin, open(0, { type: 'text', text: '' })];
	if (behaviour !== 'echo') return [...started, text('a')];
	return [...started, ...[...textIn(messages.at(-1)?.content)].map(text), close(0), ...finish('end_turn')];
}

export const MESSAGES: Wire = { key: 'x-api-key', eventsOf, more: text('more'), end: '' };
