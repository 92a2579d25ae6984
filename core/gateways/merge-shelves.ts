// One shelf of several: the tools and skills of gateways, under unique names.

import { createHash } from 'node:crypto';
import type { Tool } from '../contract/nouns.ts';
import { TimeSlice } from '../kit/time-slice.ts';
import type { ToolShelf } from '../tools/call-parts.ts';
import type { ToolEntry } from '../tools/entry.ts';
import type { MountedGateway } from './mount.ts';

const NAME_LENGTH = 64;
const SUFFIX_LENGTH = 9;

/** Merges shelves, the oldest gateway's first. A tool or skill that several gateways have is there once, as the oldest of them has it. */
export async function mergeShelves(gateways: readonly MountedGateway[]): Promise<ToolShelf> {
	const slice = new TimeSlice();
	const byId = new Map<string, ToolEntry>();
	const byName = new Map<string, ToolEntry>();
	const taken = new Set<string>();
	const listed: Tool[] = [];
	for (const { gateway, methods, shelf } of gateways) {
		const shown = new Set(shelf.list().map(({ id }) => id));
		for (const entry of shelf.entries()) {
			if (slice.isOver) await slice.next();
			if (byId.has(entry.tool.id)) continue;
			const name = freeName(entry.tool, taken);
			taken.add(name.toLowerCase());
			const merged: ToolEntry = { ...entry, tool: named(entry.tool, name), at: { gateway, methods } };
			byId.set(merged.tool.id, merged);
			byName.set(name, merged);
			if (shown.has(merged.tool.id)) listed.push(merged.tool);
		}
	}
	const tools = Object.freeze(listed);
	const skills = Object.freeze([...new Map(gateways.flatMap(({ shelf }) => shelf.skills().map((skill) => [skill.id, skill]))).values()]);
	return {
		list: () => tools,
		find: (ref) => ('name' in ref ? byName.get(ref.name) : byId.get(ref.id)) ?? null,
		skills: () => skills,
	};
}

/** Makes a name unique as a gateway does (decisions, 6), so that a tool keeps its name as long as those before it keep theirs. */
function freeName({ id, name }: Tool, taken: ReadonlySet<string>): string {
	let free = name;
	for (let attempt = 0; taken.has(free.toLowerCase()); attempt++) {
		const digest = createHash('sha256').update(`${id} ${attempt}`).digest('hex');
		free = `${name.slice(0, NAME_LENGTH - SUFFIX_LENGTH)}_${digest.slice(0, SUFFIX_LENGTH - 1)}`;
	}
	return free;
}

/** The schemas of a tool are getters, which freeze them when they are first read. */
const named = (tool: Tool, name: string): Tool =>
	tool.name === name
		? tool
		: Object.freeze(
				Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(tool), name: { value: name, enumerable: true } }) as Tool,
			);
