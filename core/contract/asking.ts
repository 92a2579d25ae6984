// Questions that only the user of the client can answer, and values that a client carries for a plugin. Types only.

import type { Json } from './nouns.ts';

/**
 * A question to the user. The client shows `message` and a form with the fields of `schema`, and the user answers, declines or dismisses
 * it. It must not ask for a secret: clients show and keep what is typed.
 */
export interface Question {
	/**
	 * Names the question among those of its tool: letters, digits, `_`, `.`, `-`. Default: its place among them. Give one where the order of
	 * questions, or whether one is asked, is not the same in each run.
	 */
	key?: string;
	/** Up to 4,000 characters. */
	message: string;
	schema: QuestionSchema;
	/**
	 * Time in which the user must answer. Default: what the transport allows, within the tool's deadline where the call waits for the answer.
	 */
	timeoutMs?: number;
}

/** A form without nesting, of up to 20 fields: the restricted JSON Schema that MCP's elicitation takes (2025-11-25, client, "Elicitation"). */
export interface QuestionSchema {
	type: 'object';
	properties: Record<string, QuestionField>;
	required?: string[];
}

interface Field {
	title?: string;
	description?: string;
}

interface Choice {
	const: string;
	title: string;
}

export interface TextField extends Field {
	type: 'string';
	minLength?: number;
	maxLength?: number;
	format?: 'email' | 'uri' | 'date' | 'date-time';
	/** The texts to choose from, or with titles as `oneOf`. */
	enum?: string[];
	oneOf?: Choice[];
	/** Titles of `enum`, for clients of 2025-06-18. */
	enumNames?: string[];
	default?: string;
}

export interface NumberField extends Field {
	type: 'number' | 'integer';
	minimum?: number;
	maximum?: number;
	default?: number;
}

export interface BooleanField extends Field {
	type: 'boolean';
	default?: boolean;
}

/** Several of a list of choices; clients of revisions before 2025-11-25 do not know it. */
export interface ChoicesField extends Field {
	type: 'array';
	minItems?: number;
	maxItems?: number;
	items: { type?: 'string'; enum: string[] } | { anyOf: Choice[] };
	default?: string[];
}

export type QuestionField = TextField | NumberField | BooleanField | ChoicesField;

/** `decline`: the user said no. `cancel`: they dismissed the question without saying anything. */
export type Answer = { action: 'accept'; content: AnswerContent } | { action: 'decline' } | { action: 'cancel' };

/** The fields that were filled in: they fit the question's schema, and there are no others. */
export type AnswerContent = Record<string, string | number | boolean | string[]>;

/**
 * The way in which a transport asks the user of its client. Core checks question and answer, and counts the questions that wait.
 *
 * It returns `later` when the client will send the whole call again, with the answer: the run then ends where it asked and is not recorded,
 * and the transport answers the client with the question. When the call comes again, the executor runs from its beginning.
 * @param signal aborts when the run ends. @throws not_implemented with a detail `client/elicitation`; upstream_timeout without an answer
 */
export type Asker = (question: Question, signal: AbortSignal) => Promise<Answer | 'later'>;

/** Values that a client carries for the plugin between two requests: it can neither read nor change them. */
export interface Seals {
	/** Encrypts a value for this plugin and gateway, on any replica. The text is base64url and dots. */
	seal(value: Json, ttlMs: number): string;
	/** Returns what `seal` encrypted; null for any other text, one of another plugin or gateway, and one that has expired. */
	unseal(text: string): Json;
}
