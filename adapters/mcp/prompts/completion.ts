// Completion of what a user types: arguments of prompts, and the variables of resource templates.

import { type Call, isObject, type Json, type JsonObject } from '../../../core/index.ts';
import type { Method } from '../dispatch.ts';
import { CODES, ProtocolError } from '../messages.ts';
import { SKILL_TEMPLATE } from '../resources/skills.ts';
import { TOOL_TEMPLATE } from '../resources/tools.ts';
import { argumentsOf } from './prompts.ts';

/** "Maximum 100 items per response" (utilities, "Completion"). */
const MAX_VALUES = 100;

interface Request {
	ref: JsonObject;
	argument: string;
	/** The text up to now. */
	typed: string;
	/** Arguments that were chosen before. */
	others: JsonObject;
}

export const complete: Method = async ({ message, call }) => {
	const request = readRequest(message.params);
	const found = matching(await valuesOf(request, call), request.typed);
	return { completion: { values: found.slice(0, MAX_VALUES), total: found.length, hasMore: found.length > MAX_VALUES } };
};

/** @throws ProtocolError */
function readRequest({ ref, argument, context }: JsonObject): Request {
	if (!isObject(ref)) throw wrong('params.ref must be an object with a type.');
	if (!isObject(argument) || typeof argument.name !== 'string' || typeof argument.value !== 'string')
		throw wrong('params.argument must be an object with a name and a value, two strings.');
	const others = isObject(context) && isObject(context.arguments) ? context.arguments : {};
	return { ref, argument: argument.name, typed: argument.value, others };
}

/** Returns all values of an argument. @throws ProtocolError for an unknown prompt, template or argument */
async function valuesOf({ ref, argument, others }: Request, call: Call): Promise<readonly string[]> {
	const known =
		ref.type === 'ref/prompt' ? await ofPrompt(ref.name, call) : ref.type === 'ref/resource' ? ofTemplate(ref.uri, others, call) : null;
	if (!known) throw wrong('params.ref must name a prompt (ref/prompt, name) or a resource template (ref/resource, uri) of this gateway.');
	const values = Object.hasOwn(known, argument) ? known[argument] : undefined;
	if (!values) throw wrong(`params.argument.name must be one of ${Object.keys(known).join(', ')}.`);
	return values();
}

/** The values of each argument. */
type Values = Record<string, () => readonly string[] | Promise<readonly string[]>>;

async function ofPrompt(name: Json | undefined, call: Call): Promise<Values | null> {
	const skill = (await call.skills()).find((one) => one.name === name);
	return skill ? Object.fromEntries(argumentsOf(skill).map((one) => [one.name, () => one.values])) : null;
}

function ofTemplate(uri: Json | undefined, others: JsonObject, call: Call): Values | null {
	if (uri === TOOL_TEMPLATE) return { name: async () => (await call.tools()).map(({ name }) => name) };
	if (uri !== SKILL_TEMPLATE) return null;
	return {
		name: async () => (await call.skills()).map(({ name }) => name),
		path: async () => {
			const chosen = (await call.skills()).filter(({ name }) => others.name === undefined || name === others.name);
			return [...new Set(chosen.flatMap(({ files }) => files.map(({ path }) => path)))];
		},
	};
}

/** Returns the values that hold the text, in any case; those that begin with it come first. */
function matching(values: readonly string[], typed: string): string[] {
	const text = typed.toLowerCase();
	const found = values.map((value) => ({ value, at: value.toLowerCase().indexOf(text) })).filter(({ at }) => at !== -1);
	return [...found.filter(({ at }) => at === 0), ...found.filter(({ at }) => at > 0)].map(({ value }) => value);
}

const wrong = (message: string): ProtocolError => new ProtocolError(CODES.invalidParams, message);
