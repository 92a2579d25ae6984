// Sets a server in a JSON file with comments, as editors keep their settings: everything else stays as it is, character by character.

import { UsageError } from '../gateway/address.ts';
import type { JsonObject } from '../wire/messages.ts';

interface Member {
	key: string;
	/** The place of the value. */
	from: number;
	to: number;
}

/** A reader of JSON with comments and trailing commas, which tells places. */
class Reader {
	readonly #text: string;
	at = 0;

	constructor(text: string, at = 0) {
		this.#text = text;
		this.at = at;
	}

	/** Skips blanks and comments. */
	skip(): void {
		const found = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
		found.lastIndex = this.at;
		found.exec(this.#text);
		this.at = found.lastIndex;
	}

	peek(): string {
		this.skip();
		return this.#text[this.at] ?? '';
	}

	take(character: string): void {
		if (this.peek() !== character) throw broken();
		this.at += 1;
	}

	string(): string {
		this.skip();
		const found = /"(?:[^"\\\n]|\\.)*"/y;
		found.lastIndex = this.at;
		const [text] = found.exec(this.#text) ?? [];
		if (text === undefined) throw broken();
		this.at += text.length;
		return JSON.parse(text);
	}

	/** Reads an object. @returns its members, and the place behind its last value or its brace */
	object(depth = 0): { members: Member[]; end: number } {
		this.take('{');
		const members: Member[] = [];
		let end = this.at;
		while (this.peek() !== '}') {
			const key = this.string();
			this.take(':');
			this.skip();
			const from = this.at;
			this.value(depth + 1);
			members.push({ key, from, to: this.at });
			end = this.at;
			if (this.peek() === ',') this.at += 1;
			else if (this.peek() !== '}') throw broken();
		}
		this.take('}');
		return { members, end };
	}

	value(depth = 0): void {
		if (depth > 200) throw broken();
		const first = this.peek();
		if (first === '{') return void this.object(depth);
		if (first === '"') return void this.string();
		if (first === '[') {
			this.at += 1;
			while (this.peek() !== ']') {
				this.value(depth + 1);
				if (this.peek() === ',') this.at += 1;
				else if (this.peek() !== ']') throw broken();
			}
			this.at += 1;
			return;
		}
		const plain = /[-+.\w]+/y;
		plain.lastIndex = this.at;
		if (!plain.exec(this.#text)) throw broken();
		this.at = plain.lastIndex;
	}
}

const broken = (): UsageError => new UsageError('The file is not JSON, and was left as it is.');

/** Returns the text with `[member][name]` set. @throws UsageError for a text that is no object */
export function setServer(text: string, member: string, name: string, server: JsonObject): string {
	if (text.trim() === '') return `${JSON.stringify({ [member]: { [name]: server } }, null, 2)}\n`;
	const start = text.startsWith('\uFEFF') ? 1 : 0;
	const reader = new Reader(text, start);
	const { members, end } = reader.object();
	reader.skip();
	if (reader.at !== text.length) throw broken();
	const servers = members.findLast(({ key }) => key === member);
	if (!servers) return insert(text, { members, end, indent: '  ' }, member, { [name]: server });
	if (text[servers.from] !== '{') throw new UsageError(`"${member}" is no object in the file, which was left as it is.`);
	const inner = new Reader(text, servers.from).object();
	const former = inner.members.findLast(({ key }) => key === name);
	if (former) return text.slice(0, former.from) + written(server, '    ') + text.slice(former.to);
	return insert(text, { ...inner, indent: '    ' }, name, server);
}

const written = (value: JsonObject, indent: string): string => JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent}`);

/** Puts a member behind the last one. */
function insert(
	text: string,
	{ members, end, indent }: { members: Member[]; end: number; indent: string },
	key: string,
	value: JsonObject,
): string {
	const entry = `${members.length > 0 ? ',' : ''}\n${indent}${JSON.stringify(key)}: ${written(value, indent)}`;
	const rest = text.slice(end);
	// A comma that followed the last member would now follow the new one, which is fine where it was fine before.
	const isAtBrace = /^\s*\}/.test(rest);
	return text.slice(0, end) + entry + (isAtBrace && !rest.startsWith('\n') ? `\n${indent.slice(2)}${rest.trimStart()}` : rest);
}
