// The tools that are offered to a model, and their results as a model reads them.

import { type ChatTool, type ContentBlock, GatewayError, grouped, type RunResult, type Tool } from '../../../core/index.ts';

/** A tool under the name by which models may call it. */
export interface Offered {
	chat: ChatTool;
	tool: Readonly<Tool>;
}

/** Providers take no more. */
const MOST_TOOLS = 128;
const MAX_NAME_CHARS = 64;
const MAX_DESCRIPTION_CHARS = 1024;

/** @throws validation_failed for a name that no tool has, and for more tools than a model takes */
export function offered(
	list: readonly Readonly<Tool>[],
	{ only, requireApproval }: { only?: string[]; requireApproval: string[] },
): Offered[] {
	const known = new Set(list.map(({ name }) => name));
	const unknown = [...(only ?? []), ...requireApproval].find((name) => !known.has(name));
	if (unknown !== undefined) throw new GatewayError('validation_failed', `There is no tool "${unknown}" among those of the node.`);
	const chosen = only ? list.filter(({ name }) => only.includes(name)) : list;
	if (chosen.length > MOST_TOOLS) {
		const message = `The node offers ${chosen.length} tools, and a model takes ${MOST_TOOLS} at most: name those that it needs in "only".`;
		throw new GatewayError('validation_failed', message);
	}
	const taken = new Set<string>();
	return chosen.map((tool) => {
		const { description, parameters } = tool;
		return { tool, chat: { name: nameFor(tool.name, taken), description: description.slice(0, MAX_DESCRIPTION_CHARS), parameters } };
	});
}

/** Returns a name that every provider takes, unique among `taken`. */
function nameFor(name: string, taken: Set<string>): string {
	const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME_CHARS);
	let free = plain;
	for (let at = 2; taken.has(free); at++) free = `${plain.slice(0, MAX_NAME_CHARS - 4)}_${at}`;
	taken.add(free);
	return free;
}

/** A tool’s run as the model reads it. */
export type Told = { text: string; isError: boolean };

/** @param most characters */
export function toldOf({ content, structured, isError = false }: RunResult, most: number): Told {
	const shown = content.map(textOf).filter((text) => text !== '');
	const text = shown.length > 0 || structured === undefined ? shown.join('\n') : JSON.stringify(structured);
	return { ...cut(text, most), isError };
}

/** Cuts a text that is too long, and says so. */
export function cut(text: string, most: number): Told {
	const note = `\n[cut: ${grouped(most)} of ${grouped(text.length)} characters]`;
	return { text: text.length > most ? text.slice(0, most) + note : text, isError: false };
}

function textOf(block: ContentBlock): string {
	switch (block.type) {
		case 'text':
			return block.text;
		case 'resource':
			return block.resource.text ?? `[${block.resource.mimeType ?? 'a file'}: ${block.resource.uri}]`;
		case 'resource_link':
			return `[${block.name}: ${block.uri}]`;
		default:
			return `[${block.mimeType}, which is not shown]`;
	}
}
