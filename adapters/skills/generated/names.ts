// Names of skills and of their files. "1-64 characters, lowercase letters, numbers, and hyphens" (agentskills.io, specification, "name").

import { createHash } from 'node:crypto';

const MAX_NAME = 64;
const HASH_CHARS = 8;

/** Returns the name of a skill: the parts as one, and a hash in place of what does not fit. */
export function skillName(...parts: readonly string[]): string {
	const whole = slug(parts.join('-')) || 'gateway';
	if (whole.length <= MAX_NAME) return whole;
	return `${slug(whole.slice(0, MAX_NAME - HASH_CHARS - 1))}-${hashOf(whole)}`;
}

const slug = (text: string): string =>
	text
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, '-')
		.replace(/^-|-$/g, '');

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS);

/** Returns a name that is not taken yet, always the same one; and takes it. */
export function untaken(name: string, taken: Set<string>): string {
	const found = taken.has(name) ? skillName(name.slice(0, MAX_NAME - HASH_CHARS - 1), hashOf(name)) : name;
	taken.add(found);
	return found;
}

/** Returns the name of a tool's file for systems that ignore case. @param taken names in lower case */
export function fileName(tool: string, taken: Set<string>): string {
	const plain = tool.replace(/[^A-Za-z0-9_-]/g, '-').slice(0, MAX_NAME) || 'tool';
	const found = plain === tool && !taken.has(plain.toLowerCase()) ? plain : `${plain}-${hashOf(tool)}`;
	taken.add(found.toLowerCase());
	return found;
}

/** Returns the beginning of the names of a skill's variables in the environment. */
export function variablePrefix(name: string): string {
	const upper = name.toUpperCase().replaceAll('-', '_');
	return /^[0-9]/.test(upper) ? `GATEWAY_${upper}` : upper;
}
