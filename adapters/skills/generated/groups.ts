// The division of a gateway's tools among skills: one skill for a few tools, else one for each tag of their API, or for each kind of thing that they
// are about, so that a model reads a few descriptions and then only what it needs.

import type { Tool } from '../../../core/index.ts';

export interface Group {
	/** Null for the group of a gateway with a single one. */
	label: string | null;
	tools: readonly Tool[];
}

/** The most tools of a gateway that are one skill. */
const SINGLE = 8;
/** The most tools of a skill: its files are few enough for every installer, and its table for a model. */
const MAX_TOOLS = 100;
const MAX_GROUPS = 24;
const OTHER = 'other';

const VERBS = new Set(
	[
		'add apply approve archive assign attach batch bulk cancel change check clear close complete copy count create deactivate',
		'delete detach disable download edit enable execute export fetch find generate get import insert invite issue list load lock',
		'login logout lookup make mark merge move open patch place post preview publish purge put query read register reject release',
		'remove rename replace reset resolve restore retrieve revoke rotate run search send set show start stop submit subscribe',
		'suspend sync test transfer trigger unassign unlock unsubscribe update upload upsert validate verify view write',
	].flatMap((words) => words.split(' ')),
);

export function groupTools(tools: readonly Tool[]): Group[] {
	if (tools.length <= SINGLE) return [{ label: null, tools }];
	const byLabel = new Map<string, Tool[]>();
	const byTags = new Set(tools.map(tagOf)).size > 1;
	for (const tool of tools) append(byLabel, (byTags ? tagOf(tool) : null) ?? subjectOf(tool.name), tool);
	const sizes = [...byLabel].sort(([a, ours], [b, theirs]) => theirs.length - ours.length || (a < b ? -1 : 1));
	const groups = new Map<string, Tool[]>();
	for (const [at, [label, its]] of sizes.entries())
		for (const tool of its) append(groups, its.length < 2 || at >= MAX_GROUPS ? OTHER : label, tool);
	const all = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
	return all.length === 1 ? parts(null, tools) : all.flatMap(([label, its]) => parts(label, its));
}

function append(groups: Map<string, Tool[]>, label: string, tool: Tool): void {
	const group = groups.get(label);
	if (group) group.push(tool);
	else groups.set(label, [tool]);
}

function parts(label: string | null, tools: readonly Tool[]): Group[] {
	if (tools.length <= MAX_TOOLS) return [{ label, tools }];
	const count = Math.ceil(tools.length / MAX_TOOLS);
	return Array.from({ length: count }, (_, at) => ({
		label: [label ?? 'part', String(at + 1)].join('-'),
		tools: tools.slice(at * MAX_TOOLS, (at + 1) * MAX_TOOLS),
	}));
}

/** Returns the first tag of a tool that makes a name; null when it has none. Tags that all tools share divide nothing. */
function tagOf({ tags = [] }: Tool): string | null {
	const labels = tags.map((tag) =>
		tag
			.toLowerCase()
			.replaceAll(/[^a-z0-9]+/g, '-')
			.replaceAll(/^-|-$/g, ''),
	);
	return labels.find((label) => label !== '') ?? null;
}

/** Returns what a tool is about, by its name: `pet` of `getPetById` and `list_pets`. */
function subjectOf(name: string): string {
	const words = name
		.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
		.toLowerCase()
		.split(/[^a-z0-9]+/)
		.filter(Boolean);
	const subject = words.find((word) => !VERBS.has(word)) ?? words[0] ?? OTHER;
	return singular(subject);
}

const singular = (word: string): string => {
	if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
	return word.length > 3 && word.endsWith('s') && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word;
};
