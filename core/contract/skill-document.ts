// Writes `SKILL.md` (https://agentskills.io/specification), and takes its body out again.

import type { JsonObject } from './nouns.ts';

const MARK = '---\n';
const END_OF_HEAD = '\n---\n\n';
/** Words that YAML reads as something else than text, and every text that does not begin with a letter. */
const NO_PLAIN_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$|^[^a-z]/;
/** Characters that JSON leaves as they are and YAML does not print. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff]/g;

/** Writes the document; the same skill always has the same bytes. @param frontmatter texts, and maps of texts */
export function writeSkill(frontmatter: JsonObject, body: string): string {
	const lines = Object.entries(frontmatter).map(
		([name, value]) => `${name}: ${name === 'name' ? plainName(String(value)) : quoted(value)}\n`,
	);
	return `${MARK}${lines.join('')}${MARK}\n${body}`;
}

/** Returns the body of a document that `writeSkill` wrote. */
export const bodyOfSkill = (document: string): string => document.slice(document.indexOf(END_OF_HEAD) + END_OF_HEAD.length);

/**
 * Puts what arguments say in the places of their names, `{{name}}`; what they say is not looked through again. Null: it has more characters than
 * that. @param values by the names of all arguments that the skill declares
 */
export function fillSkill(body: string, values: Readonly<Record<string, string>>, maxChars: number): string | null {
	const names = Object.keys(values);
	if (names.length === 0) return body;
	let chars = body.length;
	const text = body.replaceAll(new RegExp(`\\{\\{\\s{0,8}(${names.join('|')})\\s{0,8}\\}\\}`, 'g'), (_text, name: string) => {
		const said = values[name] ?? '';
		chars += said.length;
		// The rest is not even written.
		return chars > maxChars ? '' : said;
	});
	return chars > maxChars ? null : text;
}

/** Readers of YAML that know only `name: value` find the name where it needs no quotes. */
const plainName = (name: string): string => (NO_PLAIN_TEXT.test(name) ? quoted(name) : name);

/** JSON on one line is YAML too. */
const quoted = (value: unknown): string =>
	JSON.stringify(value).replaceAll(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
