// Prompts: each skill of the gateway is one. Its body is the user's message, with what the arguments say in place of `{{name}}`.

import {
	asGatewayError,
	bodyOfSkill,
	type Call,
	fillSkill,
	isObject,
	type Json,
	type JsonObject,
	type Skill,
	type SkillArgument,
} from '../../../core/index.ts';
import type { Method } from '../dispatch.ts';
import { CODES, ProtocolError } from '../messages.ts';
import { pageOf } from '../pages.ts';
import { contentsOf, DOCUMENT, skillUri } from '../resources/skills.ts';

/** The bytes of files that come with a prompt; the others come as links. */
const EMBEDDED_BYTES = 64 * 1024;
const MAX_ARGUMENT_CHARS = 100_000;
/** A body may name an argument thousands of times. */
const MAX_BODY_CHARS = 1_000_000;

/** The argument of a skill that names none of its own. */
const TASK: SkillArgument = { name: 'task', description: 'What to do with this skill.', required: false, values: [] };

export const argumentsOf = (skill: Pick<Skill, 'arguments'>): readonly SkillArgument[] =>
	skill.arguments.length > 0 ? skill.arguments : [TASK];

export const listPrompts: Method = async ({ message, call }) => {
	const { items, more } = pageOf(await call.skills(), message.params.cursor, ({ id }) => id);
	return { prompts: items.map(describePrompt), ...more };
};

const describePrompt = (skill: Skill): JsonObject => ({
	name: skill.name,
	description: skill.description,
	arguments: argumentsOf(skill).map(({ name, description, required }) => ({ name, ...(description && { description }), required })),
});

export const getPrompt: Method = async ({ message, call }) => {
	const { name, args: given } = readPromptRequest(message.params);
	const skill = (await call.skills()).find((one) => one.name === name);
	if (!skill) throw unknownPrompt(name);
	const document = await call.skillFile(skill.id, DOCUMENT);
	// It went while this request was under way.
	if (!document) throw unknownPrompt(name);
	const args = await completed(skill, given, call);
	const body = filled(bodyOfSkill(document.toString()), skill.arguments, args);
	const messages = [{ type: 'text', text: body }, ...(await attached(skill, call))];
	const task = args.get(TASK.name);
	if (skill.arguments.length === 0 && task) messages.push({ type: 'text', text: task });
	return { description: skill.description, messages: messages.map((content) => ({ role: 'user', content })) };
};

const unknownPrompt = (name: string): ProtocolError =>
	new ProtocolError(CODES.invalidParams, `There is no prompt "${name.slice(0, 128)}" here.`);

type Arguments = ReadonlyMap<string, string>;

/** @throws ProtocolError */
function readPromptRequest({ name, arguments: wanted }: JsonObject): { name: string; args: Arguments } {
	const given = wanted ?? {};
	if (typeof name !== 'string') throw new ProtocolError(CODES.invalidParams, 'params.name must be a string, the name of a prompt.');
	if (!isObject(given)) throw new ProtocolError(CODES.invalidParams, 'params.arguments must be an object.');
	const wrong = Object.entries(given).find(([, value]) => typeof value !== 'string' || value.length > MAX_ARGUMENT_CHARS);
	if (wrong) {
		const place = `params.arguments.${wrong[0].slice(0, 64)}`;
		throw new ProtocolError(CODES.invalidParams, `${place} must be a string of at most ${MAX_ARGUMENT_CHARS} characters.`);
	}
	return { name, args: mapOf(given) };
}

/** @param given whose values were checked to be texts */
const mapOf = (given: JsonObject): Arguments => new Map(Object.entries(given as Record<string, string>));

/**
 * Returns the arguments with those that are missing, which the user is asked for where the client can ask. "Missing required arguments" are
 * -32602 (prompts, "Error Handling").
 */
async function completed(skill: Skill, given: Arguments, call: Call): Promise<Arguments> {
	const unknown = [...given.keys()].find((name) => !argumentsOf(skill).some((one) => one.name === name));
	if (unknown !== undefined) {
		const known = argumentsOf(skill).map(({ name }) => name);
		throw new ProtocolError(CODES.invalidParams, `The prompt has no argument "${unknown.slice(0, 64)}", but ${known.join(', ')}.`);
	}
	const missing = skill.arguments.filter(({ name, required }) => required && !given.get(name));
	if (missing.length === 0) return given;
	const answered = await ask(skill, missing, call);
	const left = missing.find(({ name }) => !answered.get(name));
	if (left) throw new ProtocolError(CODES.invalidParams, `params.arguments.${left.name} is required, a string.`);
	return new Map([...given, ...answered]);
}

/** Asks the user; nothing is answered where the client cannot, or the user does not want to. */
async function ask({ name: prompt }: Skill, missing: readonly SkillArgument[], call: Call): Promise<Arguments> {
	const properties = Object.fromEntries(
		missing.map(({ name, description }) => [
			name,
			{ type: 'string' as const, ...(description && { description: description.slice(0, 1000) }) },
		]),
	);
	const required = missing.map(({ name }) => name);
	const message = `The prompt "${prompt}" needs: ${required.join(', ')}.`;
	try {
		const answer = await call.ask({ key: 'arguments', message, schema: { type: 'object', properties, required } });
		// Core has checked that each field is a text.
		return mapOf(answer.action === 'accept' ? answer.content : {});
	} catch (thrown) {
		if (asGatewayError(thrown)?.code === 'not_implemented') return new Map();
		throw thrown;
	}
}

/** @throws ProtocolError when too much comes of it */
function filled(body: string, declared: readonly SkillArgument[], args: Arguments): string {
	const text = fillSkill(body, Object.fromEntries(declared.map(({ name }) => [name, args.get(name) ?? ''])), MAX_BODY_CHARS);
	if (text !== null) return text;
	throw new ProtocolError(CODES.invalidParams, `The prompt and its arguments have more than ${MAX_BODY_CHARS} characters.`);
}

/** Returns the skill's other files: small ones whole, as images and sounds where they are such, the rest as links that can be read. */
async function attached(skill: Skill, call: Call): Promise<JsonObject[]> {
	let left = EMBEDDED_BYTES;
	const blocks: JsonObject[] = [];
	for (const file of skill.files.filter(({ path }) => path !== DOCUMENT)) {
		const uri = skillUri(skill, file.path);
		const content = file.size <= left ? await call.skillFile(skill.id, file.path) : null;
		if (!content) {
			blocks.push({ type: 'resource_link', uri, name: file.path, mimeType: file.mimeType, size: file.size });
			continue;
		}
		left -= file.size;
		const kind = /^(image|audio)\/(?!svg)/.exec(file.mimeType)?.[1];
		const isMedia = kind !== undefined && !file.isText;
		blocks.push(
			isMedia
				? { type: kind, data: content.toString('base64'), mimeType: file.mimeType }
				: { type: 'resource', resource: contentsOf(uri, file, content) as Json },
		);
	}
	return blocks;
}
