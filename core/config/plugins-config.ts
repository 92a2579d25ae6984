// Reads the file that GATEWAY_PLUGINS_CONFIG names: the operator's configuration of plugins, by `kind:name`, as YAML or JSON. No message
// repeats a value: it may be a secret.

import { readFile, stat } from 'node:fs/promises';
import type { JsonObject } from '../contract/nouns.ts';
import { textFaults } from '../kit/input-faults.ts';
import { isObject } from '../kit/json.ts';
import { pointerToken } from '../kit/json-pointer.ts';

export interface PluginsConfig {
	/** The path of the file. */
	file: string;
	/** The configuration of each plugin, by `kind:name`, with the variables filled in. */
	entries: ReadonlyMap<string, JsonObject>;
}

const MAX_BYTES = 1024 * 1024;
const VARIABLE = /\$\{env:([^}]*)\}/g;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

type Env = Readonly<Record<string, string | undefined>>;

/** @throws Error listing every fault with the file, the plugin and the field */
export async function readPluginsConfig(file: string, env: Env): Promise<PluginsConfig> {
	const plugins = await parsed(file, await contentOf(file));
	const faults: string[] = [];
	const filled = (value: unknown, at: string): unknown => {
		if (typeof value === 'string') return withVariables(value, env, (fault) => faults.push(`${at}: ${fault}`));
		if (Array.isArray(value)) return value.map((item, index) => filled(item, `${at}/${index}`));
		if (!isObject(value)) return value;
		return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, filled(member, `${at}/${pointerToken(key)}`)]));
	};
	const entries = new Map<string, JsonObject>();
	for (const [id, config] of Object.entries(plugins)) {
		if (!isObject(config)) faults.push(`${id}: must be an object.`);
		// The parser yields JSON, and an object was found.
		else entries.set(id, filled(config, `${id}: `) as JsonObject);
	}
	if (faults.length > 0) throw faulty(file, faults);
	return { file, entries };
}

/** Builds the error of a file; each fault is a line. */
export const faulty = (file: string, faults: readonly string[]): Error =>
	new Error(`GATEWAY_PLUGINS_CONFIG: ${file} is invalid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);

async function contentOf(file: string): Promise<string> {
	try {
		const { size } = await stat(file);
		if (size > MAX_BYTES) throw new Error('it is larger than 1 MiB');
		return await readFile(file, 'utf8');
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		throw new Error(`GATEWAY_PLUGINS_CONFIG: ${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : (code ?? message)}.`);
	}
}

/** Parses YAML, of which JSON is a part. The package is loaded only when there is a file. */
async function parsed(file: string, text: string): Promise<JsonObject> {
	const { LineCounter, parseDocument } = await import('yaml');
	const lineCounter = new LineCounter();
	const document = parseDocument(text, { prettyErrors: false, lineCounter });
	// The parser's own messages may repeat a part of the text.
	const unreadable = document.errors.map(({ code, pos: [start] }) => {
		const { line, col } = lineCounter.linePos(start);
		return `line ${line}, column ${col}: it is neither YAML nor JSON (${code}).`;
	});
	if (unreadable.length > 0) throw faulty(file, unreadable);
	const value: unknown = converted(file, () => document.toJS({ maxAliasCount: 100 }));
	const faults = textFaults(value).map(({ path, message }) => `${path}: ${message}`);
	if (faults.length > 0) throw faulty(file, faults);
	if (!isObject(value)) throw faulty(file, ['it must be an object whose members are named kind:name.']);
	// YAML's core schema knows no other values than JSON's.
	return value as JsonObject;
}

function converted<T>(file: string, convert: () => T): T {
	try {
		return convert();
	} catch {
		throw faulty(file, ['its aliases cannot be resolved.']);
	}
}

/** Returns the text with each `${env:NAME}` replaced; a variable that is missing or empty is a fault. */
function withVariables(text: string, env: Env, refuse: (fault: string) => void): string {
	return text.replaceAll(VARIABLE, (_whole, name: string) => {
		const isNamed = VARIABLE_NAME.test(name);
		const value = isNamed ? env[name] : '';
		if (!isNamed) refuse(`a variable is written \${env:NAME}, with letters, digits and _.`);
		else if (!value) refuse(`the environment variable ${name} is not set.`);
		return value ?? '';
	});
}
