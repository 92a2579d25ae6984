// Shortens a JSON text so that it stays JSON of the same shape: lists end earlier, long strings are cut, and values that are nested
// too deeply are emptied. Notes say what was cut, and where.

import type { JsonSchema } from '../contract/nouns.ts';
import { cleanText, grouped } from './clean-text.ts';
import { itemsOf, type JsonSpan, type Member, membersOf, type Outline, outlineJson, sizeOf, trailingBackslashes } from './json-outline.ts';
import { escapeToken } from './json-pointer.ts';
import { isEnough, leastItems, leastText, type Rules, rulesOf, rulesOfItem, rulesOfMember } from './json-rules.ts';
import { TimeSlice } from './time-slice.ts';

/** An object with more members is treated as a table, of which the first ones are kept. */
const MAX_MEMBERS = 10_000;
/** The least share of a member, when members share the available characters; below that, some are omitted instead. */
const LEAST_SHARE = 64;
const ELLIPSIS = '…';

export interface CutLimits {
	maxChars: number;
	maxDepth: number;
	/** The schema that the text fits, and must still fit afterwards. */
	schema?: JsonSchema | null;
}

export interface CutJson {
	text: string;
	/** Notes such as `/items: the first 812 of 25,000 items`. */
	notes: string[];
}

/** Cuts a text. Returns null when it is not JSON, or cannot be cut without violating the schema. */
export async function cutJson(text: string, limits: CutLimits): Promise<CutJson | null> {
	const outline = await outlineJson(text, limits.maxDepth);
	if (outline === null) return null;
	const cutter: Cutter = { outline, maxDepth: limits.maxDepth, notes: [], slice: new TimeSlice() };
	const steps = fit(cutter, { ...outline, budget: limits.maxChars, rules: rulesOf(limits.schema ?? null), path: '', depth: 1 });
	try {
		let step = steps.next();
		for (; !step.done; step = steps.next()) await cutter.slice.next();
		return step.value === null ? null : { text: step.value, notes: cutter.notes };
	} catch (error) {
		if (error instanceof SyntaxError) return null;
		throw error;
	}
}

interface Cutter {
	outline: Outline;
	maxDepth: number;
	notes: string[];
	slice: TimeSlice;
}

/**
 * Work that ends with a text, or null where there is none, and yields whenever its time slice is used up. A promise for each of a hundred
 * thousand values would cost more than the work.
 */
type Steps = Generator<undefined, string | null, undefined>;

/** One value, and the number of characters that it may take. */
interface Part extends JsonSpan {
	budget: number;
	rules: Rules;
	/** JSON pointer. */
	path: string;
	depth: number;
}

/** Returns the value in at most `budget` characters; null, with no note, when that is impossible. */
function* fit(cutter: Cutter, part: Part): Steps {
	const noted = cutter.notes.length;
	const text = yield* fitValue(cutter, part);
	if (text === null) cutter.notes.length = noted;
	return text;
}

function* fitValue(cutter: Cutter, part: Part): Steps {
	const { outline, maxDepth } = cutter;
	const { start, end, budget, depth } = part;
	const first = outline.text[start];
	if (isWhole(cutter, part, depth, budget)) return outline.text.slice(start, end);
	if ((first === '[' || first === '{') && depth > maxDepth) return emptied(cutter, part, first);
	if (budget < 2) return null;
	if (first === '[') return yield* fitList(cutter, part);
	if (first === '{') return yield* fitObject(cutter, part);
	return first === '"' ? fitText(cutter, part) : null;
}

/** Whether the value, at this depth, can stay unchanged. If the text is too deep anywhere, each container that may be is inspected. */
function isWhole({ outline, maxDepth }: Cutter, { start, end }: JsonSpan, depth: number, budget: number): boolean {
	if (end - start > budget) return false;
	// A level takes two brackets.
	if (outline.depth <= maxDepth || depth + (end - start) / 2 <= maxDepth + 1) return true;
	const first = outline.text[start];
	return first !== '[' && first !== '{';
}

function emptied(cutter: Cutter, { rules, path, budget }: Part, first: '[' | '{'): string | null {
	const isOwed = first === '[' ? leastItems(rules) > 0 : !isEnough(rules, new Set());
	if (isOwed || budget < 2) return null;
	note(cutter, path, `emptied, nested more than ${cutter.maxDepth} levels deep`);
	return first === '[' ? '[]' : '{}';
}

function fitText(cutter: Cutter, { start, end, budget, rules, path }: Part): string | null {
	const kept = wholeCharacters(cutter.outline.text, start + 1, start + budget - 1 - ELLIPSIS.length);
	const least = leastText(rules);
	if (kept.length < LEAST_SHARE / 2 || (least > 0 && least > decodedLength(kept))) return null;
	note(cutter, path, `the first ${grouped(kept.length)} of ${grouped(end - start - 2)} characters`);
	return `"${kept}${ELLIPSIS}"`;
}

/** Returns the length in characters as JSON Schema counts: each escape and each surrogate pair is one. */
const decodedLength = (literal: string): number => literal.replace(/\\u[0-9a-f]{4}|\\.|[\ud800-\udbff][\udc00-\udfff]/gi, ' ').length;

/** Returns the part of a string literal before `end`, without an escape or surrogate pair that `end` would split. */
function wholeCharacters(text: string, start: number, end: number): string {
	let to = Math.max(start, end);
	for (let at = to - 1; at >= Math.max(start, to - 5); at--) {
		if (text[at] !== '\\') continue;
		const isEscape = trailingBackslashes(text, start, at) % 2 === 0;
		if (isEscape && (at === to - 1 || text[at + 1] === 'u')) to = at;
		break;
	}
	const isHighEscaped = /^\\ud[89ab]..$/i.test(text.slice(Math.max(start, to - 6), to));
	if (isHighEscaped && trailingBackslashes(text, start, to - 6) % 2 === 0) to -= 6;
	if (to > start && /[\ud800-\udbff]/.test(text.charAt(to - 1))) to -= 1;
	return text.slice(start, to);
}

/** Keeps as many items as fit. An item too long for the remaining budget is itself cut, if at least half of the budget remains. */
function* fitList(cutter: Cutter, part: Part): Steps {
	const { start, budget, rules, path, depth } = part;
	const { outline } = cutter;
	const pieces = new Pieces();
	/** Unchanged items one after another, which are copied as one piece. */
	let run: JsonSpan | null = null;
	let kept = 0;
	let left = budget - 2;
	for (const item of itemsOf(outline, start)) {
		if (cutter.slice.isOver) yield;
		const from: number = run?.end ?? item.start - Math.min(kept, 1);
		const isShort = item.end - from < left;
		if (!isShort && left < budget / 2) break;
		if (isShort && isWhole(cutter, item, depth + 1, left)) {
			left -= item.end - from;
			if (run) run.end = item.end;
			else run = item;
			kept += 1;
			continue;
		}
		const text = yield* fit(cutter, {
			...item,
			budget: left - 1,
			rules: rulesOfItem(rules, kept),
			path: `${path}/${kept}`,
			depth: depth + 1,
		});
		if (text === null) break;
		if (run) pieces.add(outline.text.slice(run.start, run.end));
		run = null;
		pieces.add(text);
		kept += 1;
		left -= text.length + 1;
		if (!isShort) break;
	}
	if (run) pieces.add(outline.text.slice(run.start, run.end));
	const total = Math.max(sizeOf(outline, start), kept);
	if (kept < Math.min(total, leastItems(rules))) return null;
	if (kept < total) note(cutter, path, `the first ${grouped(kept)} of ${grouped(total)} items`);
	return `[${pieces.joined()}]`;
}

/** Texts with commas between them. Each thousand is joined as it comes: a hundred thousand in one turn would hold the event loop. */
class Pieces {
	readonly #joined: string[] = [];
	#latest: string[] = [];

	add(piece: string): void {
		if (this.#latest.push(piece) < 1000) return;
		this.#joined.push(this.#latest.join(','));
		this.#latest = [];
	}

	joined(): string {
		return [...this.#joined, ...this.#latest].join(',');
	}
}

interface Named extends Member {
	name: string;
	/** Length of the value. */
	size: number;
}

function* fitObject(cutter: Cutter, part: Part): Steps {
	const members: Named[] = [];
	let names = 2;
	for (const member of membersOf(cutter.outline, part.start)) {
		if (cutter.slice.isOver) yield;
		members.push({ ...member, name: nameOf(member.key), size: member.end - member.start });
		names += member.key.length + 2;
		// There is not enough room for all members, however many more there are.
		if (names > part.budget || members.length > MAX_MEMBERS) break;
	}
	const isTable = names > part.budget || members.length > MAX_MEMBERS;
	const share = isTable ? 0 : fairShare(members, part.budget - names);
	return yield* share < LEAST_SHARE ? firstMembers(cutter, part, members) : allMembers(cutter, part, { members, share });
}

/** Returns the maximum length of each value so that all fit: short values leave their share to long ones. */
function fairShare(members: readonly Named[], room: number): number {
	const sizes = members.map(({ size }) => size).sort((a, b) => a - b);
	let left = room;
	for (const [at, size] of sizes.entries()) {
		const share = Math.floor(left / (sizes.length - at));
		if (size > share) return share;
		left -= size;
	}
	return Number.POSITIVE_INFINITY;
}

function* allMembers(cutter: Cutter, part: Part, { members, share }: { members: Named[]; share: number }): Steps {
	const kept: string[] = [];
	const names = new Set<string>();
	const leftOut: string[] = [];
	for (const member of members) {
		if (cutter.slice.isOver) yield;
		const text = yield* fitMember(cutter, part, member, Math.min(member.size, share));
		if (text === null) {
			leftOut.push(member.name);
			continue;
		}
		kept.push(`${member.key}:${text}`);
		names.add(member.name);
	}
	if (leftOut.length > 0 && !isEnough(part.rules, names)) return null;
	for (const name of leftOut) note(cutter, pointer(part.path, name), 'left out');
	return `{${kept.join(',')}}`;
}

/** Keeps the first members of a table, an object with more members than fit. */
function* firstMembers(cutter: Cutter, part: Part, members: readonly Named[]): Steps {
	const kept: string[] = [];
	const names = new Set<string>();
	let left = part.budget - 2;
	for (const member of members.slice(0, MAX_MEMBERS)) {
		if (member.key.length + member.size + 2 > left) break;
		if (cutter.slice.isOver) yield;
		const text = yield* fitMember(cutter, part, member, member.size);
		if (text === null) break;
		kept.push(`${member.key}:${text}`);
		names.add(member.name);
		left -= member.key.length + text.length + 2;
	}
	if (!isEnough(part.rules, names)) return null;
	const total = sizeOf(cutter.outline, part.start);
	if (kept.length < total) note(cutter, part.path, `the first ${grouped(kept.length)} of ${grouped(total)} properties`);
	return `{${kept.join(',')}}`;
}

function* fitMember(cutter: Cutter, { rules, path, depth }: Part, member: Named, budget: number): Steps {
	const { start, end, name } = member;
	if (isWhole(cutter, member, depth + 1, budget)) return cutter.outline.text.slice(start, end);
	return yield* fit(cutter, { start, end, budget, rules: rulesOfMember(rules, name), path: pointer(path, name), depth: depth + 1 });
}

/** Decodes a member's name. An invalid literal is kept: the text will not be JSON either, which its reader finds. */
function nameOf(key: string): string {
	try {
		return JSON.parse(key) as string;
	} catch {
		return key;
	}
}

const pointer = (path: string, name: string): string => `${path}/${escapeToken(name)}`;

function note(cutter: Cutter, path: string, what: string): void {
	cutter.notes.push(`${cleanText(path, 200) || '/'}: ${what}`);
}
