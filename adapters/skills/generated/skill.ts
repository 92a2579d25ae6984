// The files of a skill that is made of a gateway's tools.

import { type Admission, type Gateway, hintsOf, type JsonObject, TimeSlice, type Tool } from '../../../core/index.ts';
import type { Files } from '../tar.ts';
import { credentialWays, wayAsJson } from './credentials.ts';
import { type Described, describeSkill, writeDocument } from './document.ts';
import { type Group, groupTools } from './groups.ts';
import { fileName, skillName, untaken, variablePrefix } from './names.ts';
import { isDestructive, writeReference } from './reference.ts';
import { writeRunner } from './runner.ts';
import { jsonText } from './text.ts';

export interface GeneratedSkill {
	name: string;
	description: string;
	files: Files;
}

export interface SkillSource {
	/** Null at an address over several gateways. */
	gateway: Readonly<Gateway> | null;
	/** The address of the gateway, as the client spells its host. */
	base: string;
	admission: readonly Admission[];
	/** Null when the tools are told to callers only. */
	tools: readonly Tool[] | null;
	/** Names of other skills at the same place. */
	taken: readonly string[];
}

/** Returns the skills one after the other; the same tools always give the same bytes. */
export async function* generateSkills(source: SkillSource): AsyncGenerator<GeneratedSkill> {
	const { gateway, base, tools } = source;
	const taken = new Set(source.taken);
	const [first = '', second = 'tools'] = new URL(base).pathname.split('/').filter(Boolean);
	const name = gateway ? skillName(gateway.organizationSlug, gateway.endpoint) : skillName(first, second);
	const groups: Group[] = tools ? groupTools(tools) : [{ label: null, tools: [] }];
	for (const group of groups) {
		const own = untaken(group.label === null ? name : skillName(name, group.label), taken);
		yield generate(group, own, { ...source, prefix: variablePrefix(name) });
	}
}

async function generate({ label, tools: group }: Group, name: string, source: SkillSource & { prefix: string }): Promise<GeneratedSkill> {
	const { gateway, base, admission, prefix } = source;
	const slice = new TimeSlice();
	const ways = credentialWays(admission);
	const files = new Map<string, Buffer>();
	const put = (path: string, text: string): unknown => files.set(path, Buffer.from(text));
	const names = new Set<string>();
	const tools = source.tools && group.map((tool) => ({ tool, file: fileName(tool.name, names) }));
	const described: Described = {
		...{ name, prefix, url: base, ways, label, tools },
		title: gateway?.name ?? 'all gateways',
		organization: gateway?.organizationName ?? new URL(base).host,
		about: gateway?.description ?? null,
	};
	const description = describeSkill(described);
	put('SKILL.md', writeDocument(described, description));
	put('scripts/call.mjs', writeRunner({ url: base, prefix, ways: ways?.map(wayAsJson) ?? null }));
	const lines: string[] = [];
	for (const { tool, file } of tools ?? []) {
		put(`references/${file}.md`, writeReference(tool, base));
		lines.push(jsonText(toolAsJson(tool)));
		if (slice.isOverNow) await slice.next();
	}
	if (tools) put('assets/tools.json', `{"tools":[\n${lines.join(',\n')}\n]}\n`);
	return { name, description, files };
}

/** Shows a tool as `assets/tools.json` and the answers to callers have it. */
export const toolAsJson = (tool: Tool): JsonObject => {
	const { name, description, parameters, outputSchema, annotations } = tool;
	const { readOnlyHint: readOnly, idempotentHint: idempotent } = hintsOf(annotations);
	return {
		name,
		...(annotations.title !== undefined && { title: annotations.title }),
		description,
		...{ destructive: isDestructive(tool), readOnly, idempotent },
		parameters,
		...(outputSchema && { outputSchema }),
	};
};
