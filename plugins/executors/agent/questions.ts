// Questions of agents as questions to the user of a client, which are forms without nesting.

import {
	type Answer,
	GatewayError,
	isObject,
	type Json,
	type JsonSchema,
	type QuestionField,
	type QuestionSchema,
} from '../../../core/index.ts';

const MOST_FIELDS = 20;
const NAME = /^(?!__proto__$)[A-Za-z_][\w.-]{0,63}$/;
/** The keywords of each type that a form knows. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
	string: ['type', 'title', 'description', 'minLength', 'maxLength', 'format', 'enum', 'default'],
	number: ['type', 'title', 'description', 'minimum', 'maximum', 'default'],
	integer: ['type', 'title', 'description', 'minimum', 'maximum', 'default'],
	boolean: ['type', 'title', 'description', 'default'],
};
const FORMATS = ['email', 'uri', 'date', 'date-time'];

/** Returns the form of a schema; null when it is more than a form can ask. */
export function formOf({ type, properties, required = [] }: JsonSchema): QuestionSchema | null {
	if (type !== 'object' || !isObject(properties) || !Array.isArray(required)) return null;
	const fields = Object.entries(properties);
	if (fields.length === 0 || fields.length > MOST_FIELDS || !fields.every(([name, field]) => NAME.test(name) && isField(field)))
		return null;
	if (!required.every((name) => typeof name === 'string' && Object.hasOwn(properties, name))) return null;
	// Each field was found to be one, and each name a text.
	return { type: 'object', properties: properties as unknown as Record<string, QuestionField>, required: required as string[] };
}

function isField(field: Json): boolean {
	if (!isObject(field) || typeof field['type'] !== 'string' || !Object.hasOwn(KNOWN, field['type'])) return false;
	const known = KNOWN[field['type']] ?? [];
	const { format, enum: choices } = field;
	if (format !== undefined && !FORMATS.includes(String(format))) return false;
	if (choices !== undefined && !(Array.isArray(choices) && choices.length > 0 && choices.every((one) => typeof one === 'string')))
		return false;
	return Object.keys(field).every((keyword) => known.includes(keyword));
}

/** Returns what the run gets. @throws forbidden when the user declined, and the form has no way to say so */
export function answerOf(answer: Answer, { properties }: QuestionSchema): Json {
	if (answer.action === 'accept') return answer.content;
	if (answer.action === 'decline' && properties['approved']?.type === 'boolean') return { approved: false };
	throw new GatewayError('forbidden', 'The user did not answer what the agent asked, so it was cancelled.');
}
