// The form of a question: what a plugin may ask, and whether an answer fits it.

import Joi from 'joi';
import type { AnswerContent, Question, QuestionField, QuestionSchema } from '../contract/asking.ts';
import { GatewayError } from '../contract/errors.ts';
import { isObject, measureJson } from '../kit/json.ts';
import { isBareAddress } from '../kit/mail-address.ts';

const MAX_MESSAGE_CHARS = 4000;
const MAX_FIELDS = 20;
const MAX_CHOICES = 100;
const MAX_QUESTION_CHARS = 32 * 1024;
/** The most characters of an answer's JSON. */
const MAX_ANSWER_CHARS = 32 * 1024;

const FIELD_NAME = /^(?!__proto__$)[A-Za-z_][\w.-]{0,63}$/;
const count = Joi.number().integer().min(0).max(MAX_ANSWER_CHARS);
const plain = Joi.string().max(1000);
const choice = Joi.object({ const: plain.allow('').required(), title: plain.required() });
const choices = (of: Joi.Schema) => Joi.array().items(of).min(1).max(MAX_CHOICES);
const label = { title: plain, description: plain };

const TEXT = Joi.object({
	...label,
	type: 'string',
	minLength: count,
	maxLength: count,
	format: Joi.valid('email', 'uri', 'date', 'date-time'),
	enum: choices(plain.allow('')),
	oneOf: choices(choice),
	enumNames: choices(plain),
	default: Joi.string().allow('').max(MAX_MESSAGE_CHARS),
}).oxor('enum', 'oneOf');
const NUMBER = Joi.object({
	...label,
	type: Joi.valid('number', 'integer').required(),
	minimum: Joi.number().unsafe(),
	maximum: Joi.number().unsafe(),
	default: Joi.number().unsafe(),
});
const BOOLEAN = Joi.object({ ...label, type: 'boolean', default: Joi.boolean() });
const CHOICES = Joi.object({
	...label,
	type: 'array',
	minItems: count,
	maxItems: count,
	items: Joi.object({ type: 'string', enum: choices(plain.allow('')), anyOf: choices(choice) })
		.xor('enum', 'anyOf')
		.required(),
	default: Joi.array().items(plain).max(MAX_CHOICES),
});
const FIELDS: ReadonlyMap<unknown, Joi.ObjectSchema> = new Map([
	['string', TEXT],
	['number', NUMBER],
	['integer', NUMBER],
	['boolean', BOOLEAN],
	['array', CHOICES],
]);
const QUESTION = Joi.object({
	key: Joi.string().pattern(FIELD_NAME),
	message: Joi.string().max(MAX_MESSAGE_CHARS).required(),
	schema: Joi.object({
		type: Joi.valid('object').required(),
		properties: Joi.object().pattern(Joi.string(), Joi.object()).min(1).max(MAX_FIELDS).required(),
		required: Joi.array().items(Joi.string()).unique(),
	}).required(),
	timeoutMs: Joi.number().integer().min(1).max(86_400_000),
}).required();

/** Returns the end of a sentence that says why a plugin may not ask this; null if it may. */
export function questionFault(question: unknown): string | null {
	const { chars, fault } = measureJson(question, MAX_QUESTION_CHARS);
	if (fault !== null) return `the question must be JSON: ${fault}`;
	if (chars > MAX_QUESTION_CHARS) return `the question must have at most ${MAX_QUESTION_CHARS} characters of JSON`;
	const { error } = QUESTION.validate(question, { convert: false });
	// It has the shape of a question, and Joi's own copy of it would lack a field `__proto__`.
	return error ? error.message : schemaFault((question as Question).schema);
}

function schemaFault({ properties, required = [] }: QuestionSchema): string | null {
	for (const [name, field] of Object.entries(properties)) {
		if (!FIELD_NAME.test(name))
			return `"schema.properties" has the field ${JSON.stringify(name.slice(0, 64))}, which must match ${FIELD_NAME}`;
		const kind = FIELDS.get(field.type);
		if (!kind) return `"schema.properties.${name}.type" must be one of ${[...FIELDS.keys()].join(', ')}`;
		const { error } = kind.validate(field, { convert: false });
		if (error) return `"schema.properties.${name}": ${error.message}`;
	}
	const missing = required.find((name) => !Object.hasOwn(properties, name));
	return missing === undefined
		? null
		: `"schema.required" names the field "${missing.slice(0, 64)}", which "schema.properties" does not have`;
}

/** Returns the fields that were asked; those that were not are left out. @throws validation_failed naming the field that does not fit */
export function fittingAnswer({ properties, required = [] }: QuestionSchema, content: unknown): AnswerContent {
	if (!isObject(content)) throw unfit('', 'must be an object.');
	const { chars } = measureJson(content, MAX_ANSWER_CHARS);
	if (chars > MAX_ANSWER_CHARS) throw unfit('', `must have at most ${MAX_ANSWER_CHARS} characters of JSON.`);
	const taken: AnswerContent = {};
	for (const [name, field] of Object.entries(properties)) {
		const given = Object.hasOwn(content, name) ? content[name] : undefined;
		if (given === undefined && !required.includes(name)) continue;
		const message = given === undefined ? 'is required.' : fieldFault(field, given);
		if (message !== null) throw unfit(`/${name}`, message);
		// `fieldFault` found that it has the field's type.
		taken[name] = given as AnswerContent[string];
	}
	return taken;
}

const unfit = (path: string, message: string): GatewayError =>
	new GatewayError('validation_failed', `The user's answer does not fit the question: ${path} ${message}`.replace('  ', ' '), {
		details: [{ path, message }],
	});

function fieldFault(field: QuestionField, given: unknown): string | null {
	switch (field.type) {
		case 'string':
			return typeof given === 'string' ? textFault(field, given) : 'must be a text.';
		case 'boolean':
			return typeof given === 'boolean' ? null : 'must be true or false.';
		case 'array':
			return choicesFault(field, given);
		default:
			return numberFault(field, given);
	}
}

function textFault(field: Extract<QuestionField, { type: 'string' }>, text: string): string | null {
	const offered = field.enum ?? field.oneOf?.map((one) => one.const);
	if (offered) return offered.includes(text) ? null : 'must be one of the choices.';
	const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, format } = field;
	// JSON Schema counts characters, not UTF-16 units.
	const length = [...text].length;
	if (length < minLength) return `must have at least ${minLength} characters.`;
	if (length > maxLength) return `must have at most ${maxLength} characters.`;
	return format === undefined || FORMATS[format](text) ? null : `must be of the format ${format}.`;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** RFC 3339 §5.6. */
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/i;

const FORMATS = {
	email: isBareAddress,
	uri: (text: string) => URL.canParse(text),
	date: (text: string) => DATE.test(text) && isDay(text),
	'date-time': (text: string) => DATE_TIME.test(text) && isDay(text.slice(0, 10)) && !Number.isNaN(Date.parse(text)),
};

/** Whether the date exists: Date takes the thirtieth of February for the second of March. */
function isDay(date: string): boolean {
	const midnight = new Date(`${date}T00:00:00Z`);
	return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
}

function numberFault({ type, minimum, maximum }: Extract<QuestionField, { type: 'number' | 'integer' }>, given: unknown): string | null {
	if (typeof given !== 'number' || !Number.isFinite(given)) return 'must be a number.';
	if (type === 'integer' && !Number.isInteger(given)) return 'must be a whole number.';
	if (minimum !== undefined && given < minimum) return `must be at least ${minimum}.`;
	return maximum !== undefined && given > maximum ? `must be at most ${maximum}.` : null;
}

function choicesFault({ items, minItems = 0, maxItems = MAX_CHOICES }: Extract<QuestionField, { type: 'array' }>, given: unknown) {
	const offered = 'anyOf' in items ? items.anyOf.map((one) => one.const) : items.enum;
	if (!Array.isArray(given) || !given.every((one) => offered.includes(one))) return 'must be a list of the choices.';
	if (new Set(given).size < given.length) return 'must have each choice once.';
	if (given.length < minItems) return `must have at least ${minItems} choices.`;
	return given.length > maxItems ? `must have at most ${maxItems} choices.` : null;
}
