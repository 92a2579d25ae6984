// Finds the tool that a message asks for: A2A has no field for it, so several forms are understood.

import { isObject, type Json, type JsonObject, type JsonSchema, parseJson, type Tool } from '../../core/index.ts';
import { type Guide, namesGuide } from './instructions.ts';
import type { Message, Part } from './wire.ts';

export interface Command {
	skill: string;
	args: JsonObject;
}

export interface VisibleCatalog {
	/** The tools that the caller may see; null when they may see none. */
	tools: readonly Tool[] | null;
	/** Instructions that the caller may see. */
	guides: readonly Guide[];
	/** Metadata of the request. */
	metadata: JsonObject | null;
	/** The skill and the arguments that an earlier message of the task named; null when none did. */
	earlier: Command | null;
}

const NAMES = ['skill', 'tool', 'name'] as const;
/** `get_pet {"id": 1}`. */
const LINE = /^([^\s{]{1,256})(?:\s+(\{[\s\S]*\}))?$/;

/**
 * Returns what a message asks for, by the first form that fits: data that names the skill and its arguments; text that is such data;
 * `skill {…}`; for the skill in the metadata, the one that the task has already, or the only one of the gateway, data as arguments, or text
 * for the one text that it lacks. The metadata have the last word on the skill. Null: the message names no skill.
 */
export function commandOf(message: Message, known: VisibleCatalog): Command | null {
	const { data, text } = contentOf(message.parts);
	const given = data ?? (text === null ? null : tryParse(text));
	const command = given ? readNamed(given, known) : lineOf(text, known);
	const skill = skillOf(message.metadata) ?? skillOf(known.metadata);
	const { earlier } = known;
	if (skill !== null && command?.skill !== skill)
		return completed({ given, text }, { ...known, earlier: earlier?.skill === skill ? earlier : { skill, args: {} } });
	if (command) return command.skill === earlier?.skill ? { ...command, args: { ...earlier.args, ...command.args } } : command;
	return completed({ given, text }, known);
}

const skillOf = (metadata: JsonObject | null | undefined): string | null =>
	typeof metadata?.skillId === 'string' && metadata.skillId !== '' ? metadata.skillId : null;

interface Content {
	data: JsonObject | null;
	text: string | null;
}

function contentOf(parts: readonly Part[]): Content {
	const data = parts.map(dataOf).find((one) => one !== null) ?? null;
	const texts = parts.flatMap(({ text }) => text ?? []);
	return { data, text: texts.length === 0 ? null : texts.join('\n').trim() };
}

function dataOf({ data, raw }: Part): JsonObject | null {
	if (data !== undefined) return isObject(data) ? data : null;
	return raw === undefined ? null : tryParse(Buffer.from(raw, 'base64').toString());
}

/** Returns an object that is written as JSON; null for any other text. */
export function tryParse(text: string): JsonObject | null {
	if (!text.startsWith('{')) return null;
	try {
		const value = parseJson(Buffer.from(text));
		// JSON of an object has members that are JSON.
		return isObject(value) ? (value as JsonObject) : null;
	} catch {
		return null;
	}
}

/** Reads `{ skill, arguments }`. A single `name` may also be an argument of the only skill. */
function readNamed(data: JsonObject, known: VisibleCatalog): Command | null {
	const key = NAMES.find((one) => typeof data[one] === 'string');
	const { [key ?? '']: skill, arguments: args, ...rest } = data;
	if (key === undefined || typeof skill !== 'string' || skill === '') return null;
	if (isObject(args)) return { skill, args };
	const isAlone = (args === undefined || args === null) && Object.keys(rest).length === 0;
	const isSure = key === 'skill' && known.earlier === null;
	return isAlone && (isSure || isKnown(skill, known)) ? { skill, args: {} } : null;
}

function lineOf(text: string | null, known: VisibleCatalog): Command | null {
	const [, skill, json] = (text === null ? null : LINE.exec(text)) ?? [];
	if (skill === undefined) return null;
	const args = json === undefined ? {} : tryParse(json);
	if (!args) return null;
	return isKnown(skill, known) || (json !== undefined && known.earlier === null) ? { skill, args } : null;
}

const isKnown = (skill: string, { tools, guides }: VisibleCatalog): boolean =>
	tools?.some(({ name }) => name === skill) || namesGuide(skill, guides);

/** Completes what the task has, or calls the only tool. */
function completed(
	{ given, text }: { given: JsonObject | null; text: string | null },
	{ tools, guides, earlier }: VisibleCatalog,
): Command | null {
	const [only, ...others] = tools ?? [];
	const base = earlier ?? (only && others.length === 0 ? { skill: only.name, args: {} } : null);
	if (!base) return null;
	const { parameters = {} } = [...(tools ?? []), ...guides].find(({ name }) => name === base.skill) ?? {};
	if (given) return { skill: base.skill, args: { ...base.args, ...argumentsOf(given, parameters) } };
	const field = text === null ? null : missingText(parameters, base.args);
	return { skill: base.skill, args: field === null ? base.args : { ...base.args, [field]: text } };
}

/** The arguments may be given by themselves, or as `{ arguments }` where the skill has no argument of that name. */
function argumentsOf(given: JsonObject, { properties }: JsonSchema): JsonObject {
	const isOwn = isObject(properties) && Object.hasOwn(properties, 'arguments');
	return isObject(given.arguments) && Object.keys(given).length === 1 && !isOwn ? given.arguments : given;
}

/** Returns the one required text that is not among the arguments; null when there are several, or none. */
function missingText({ required, properties }: JsonSchema, args: JsonObject): string | null {
	if (!Array.isArray(required) || !isObject(properties)) return null;
	const missing = required.filter((name): name is string => typeof name === 'string' && !Object.hasOwn(args, name));
	const texts = missing.filter((name) => isText(properties[name]));
	return texts.length === 1 ? (texts[0] ?? null) : null;
}

const isText = (schema: Json | undefined): boolean => isObject(schema) && schema.type === 'string';
