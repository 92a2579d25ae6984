// Skills of the organization, beside the tools: instructions with files. A message that names one gets it handed over as the artifact of its task.

import {
	bodyOfSkill,
	type Call,
	type ContentBlock,
	fillSkill,
	GatewayError,
	type JsonObject,
	type Skill,
	type Tool,
	type ToolResult,
} from '../../core/index.ts';

const DOCUMENT = 'SKILL.md';
const MARKDOWN = 'text/markdown';
/** The bytes of files that come with the instructions; the others are named, and got one by one. */
const EMBEDDED_BYTES = 64 * 1024;
/** Instructions may name an argument thousands of times. */
const MAX_CHARS = 1_000_000;
/** No tool has such a name. */
const PREFIX = 'skill:';

/** Instructions as a message may name them. */
export interface Guide {
	/** The id on the card: the skill's name, or where a tool has that name, the same with a prefix. */
	name: string;
	parameters: JsonObject;
	skill: Skill;
}

/** Those of each list of skills, beside the tools that they were made for: both stay the same objects until something in them changes. */
const GUIDES = new WeakMap<readonly Skill[], { tools: readonly Named[]; guides: readonly Guide[] }>();

type Named = Pick<Tool, 'name'>;

export function guidesOf(skills: readonly Skill[], tools: readonly Named[]): readonly Guide[] {
	const known = GUIDES.get(skills);
	if (known?.tools === tools) return known.guides;
	const guides = made(skills, tools);
	GUIDES.set(skills, { tools, guides });
	return guides;
}

function made(skills: readonly Skill[], tools: readonly Named[]): Guide[] {
	if (skills.length === 0) return [];
	const taken = new Set(tools.map(({ name }) => name));
	return skills.map((skill) => ({
		name: taken.has(skill.name) ? PREFIX + skill.name : skill.name,
		parameters: parametersOf(skill),
		skill,
	}));
}

const parametersOf = ({ arguments: all }: Skill): JsonObject => ({
	type: 'object',
	properties: Object.fromEntries(
		all.map(({ name, description, values }) => [
			name,
			{ type: 'string', ...(description && { description }), ...(values.length > 0 && { examples: values }) },
		]),
	),
	required: all.filter(({ required }) => required).map(({ name }) => name),
});

export const onCard = ({ name, skill: { description } }: Guide): JsonObject => ({
	...{ id: name, name, description, tags: ['instructions'], examples: [JSON.stringify({ skill: name })] },
	...{ inputModes: ['application/json', 'text/plain'], outputModes: [MARKDOWN] },
});

/** Returns the skills that the caller may see. */
export const seenSkills = async (call: Call): Promise<readonly Skill[]> =>
	call.caller?.scopes.includes('tools:read') ? call.skills() : [];

/**
 * Hands instructions over, with what the arguments say in them, or one of their files, as `name/path`.
 * @returns null when no skill that the caller may see has this name. @throws validation_failed
 */
export async function handOver(named: string, args: JsonObject, call: Call): Promise<ToolResult | null> {
	const [name = '', ...segments] = (named.startsWith(PREFIX) ? named.slice(PREFIX.length) : named).split('/');
	const skill = (await seenSkills(call)).find((one) => one.name === name);
	if (!skill) return null;
	if (segments.length > 0) return file(skill, segments.join('/'), call);
	const values = valuesOf(skill, args);
	const document = await call.skillFile(skill.id, DOCUMENT);
	// It went while this task was at work.
	if (!document) return null;
	const text = fillSkill(bodyOfSkill(document.toString()), values, MAX_CHARS);
	if (text === null) throw wrong('', `The instructions and their arguments have more than ${MAX_CHARS} characters.`);
	return {
		content: [{ type: 'resource', resource: { uri: DOCUMENT, mimeType: MARKDOWN, text } }, ...(await attached(skill, named, call))],
	};
}

/** Returns the texts of all arguments, empty for those that were not given. @throws validation_failed */
function valuesOf({ arguments: all }: Skill, args: JsonObject): Record<string, string> {
	const unknown = Object.keys(args).find((name) => !all.some((one) => one.name === name));
	if (unknown !== undefined) throw wrong(`/${unknown.slice(0, 64)}`, 'is no argument of this skill');
	const faulty = Object.entries(args).find(([, value]) => typeof value !== 'string');
	if (faulty) throw wrong(`/${faulty[0]}`, 'must be a text');
	// A map, since an argument may have a name that every object has.
	const given = new Map(Object.entries(args));
	const missing = all.find(({ name, required }) => required && !given.get(name));
	if (missing) throw wrong(`/${missing.name}`, 'is required');
	return Object.fromEntries(all.map(({ name }) => [name, String(given.get(name) ?? '')]));
}

function wrong(path: string, fault: string): GatewayError {
	const message = path === '' ? fault : `${path} ${fault}.`;
	return new GatewayError('validation_failed', message, { details: [{ path, message: fault }] });
}

async function file(skill: Skill, path: string, call: Call): Promise<ToolResult | null> {
	const block = await blockOf(skill, path, call);
	return block && { content: [block] };
}

async function blockOf({ id, files }: Skill, path: string, call: Call): Promise<ContentBlock | null> {
	const found = files.find((one) => one.path === path);
	const content = found ? await call.skillFile(id, path) : null;
	if (!found || !content) return null;
	const { mimeType, isText } = found;
	return {
		type: 'resource',
		resource: { uri: path, mimeType, ...(isText ? { text: content.toString() } : { blob: content.toString('base64') }) },
	};
}

/** Returns the other files: small ones whole, and the names of the rest. */
async function attached(skill: Skill, named: string, call: Call): Promise<ContentBlock[]> {
	let left = EMBEDDED_BYTES;
	const blocks: ContentBlock[] = [];
	const others: string[] = [];
	for (const { path, size } of skill.files) {
		if (path === DOCUMENT) continue;
		const block = size <= left ? await blockOf(skill, path, call) : null;
		if (block) left -= size;
		if (block) blocks.push(block);
		else others.push(`${JSON.stringify({ skill: `${named}/${path}` })} (${size} bytes)`);
	}
	if (others.length > 0) blocks.push({ type: 'text', text: `Further files, each got by a message of its own:\n${others.join('\n')}` });
	return blocks;
}

/** Whether a name is one of instructions, or of a file in them. */
export const namesGuide = (named: string, guides: readonly Guide[]): boolean =>
	guides.some(({ name, skill }) => named === name || named === PREFIX + skill.name || named.startsWith(`${name}/`));
