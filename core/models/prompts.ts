// Prompts of pipelines' nodes: values of templates as texts, content in base64, and conversations so far.

import { GatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import type { ChatMessage } from '../contract/providers.ts';
import { isObject } from '../kit/json.ts';

const MOST_MESSAGES = 1000;

/** Returns the text of a prompt. A value that is no text is shown as JSON; one that is not there is nothing, as it is within a text. */
export const promptText = (value: Json): string => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value));

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Tells whether a text is content in base64, with or without its padding. */
export function isBase64(text: string): boolean {
	const padding = text.indexOf('=');
	return BASE64.test(text) && (padding < 0 ? text.length : padding) % 4 !== 1;
}

/** Reads the messages of a conversation so far; null is none. @throws validation_failed naming the message that is none */
export function historyOf(value: Json): ChatMessage[] {
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
