// The documentation of tools as resources: a page of Markdown for each, for clients that read before they call.

import type { Json, JsonObject, Tool, ToolAnnotations } from '../../../core/index.ts';
import { documentOutput } from '../listing.ts';
import type { ResourceReader } from './readers.ts';

const SCHEME = 'gatehouse://tools/';
export const TOOL_TEMPLATE = `${SCHEME}{name}`;

const MIME_TYPE = 'text/markdown';

export const toolUri = ({ name }: Pick<Tool, 'name'>): string => SCHEME + name;

export const toolReader: ResourceReader = {
	matches: (uri) => uri.startsWith(SCHEME),
	async read(uri, call) {
		const tool = (await call.tools()).find((one) => toolUri(one) === uri);
		return tool ? [{ uri, mimeType: MIME_TYPE, text: writePage(tool) }] : null;
	},
	version: (uri, versions) => versions.ofTool(uri.slice(SCHEME.length)),
};

export const describePage = (tool: Tool): JsonObject => ({
	uri: toolUri(tool),
	name: tool.name,
	...(tool.annotations.title !== undefined && { title: tool.annotations.title }),
	description: `How to call the tool ${tool.name}: its arguments and its result.`,
	mimeType: MIME_TYPE,
});

function writePage({ name, description, annotations, parameters, outputSchema }: Tool): string {
	const sections = [
		`# ${name}`,
		...(annotations.title === undefined ? [] : [annotations.title]),
		...(description === '' ? [] : [description]),
		...hintsOf(annotations),
		'## Arguments',
		block(parameters),
		...(outputSchema ? ['## Result', block(documentOutput(outputSchema))] : []),
	];
	return `${sections.join('\n\n')}\n`;
}

const HINTS: [hint: keyof ToolAnnotations, yes: string, no: string][] = [
	['readOnlyHint', 'It only reads.', 'It changes something.'],
	['destructiveHint', 'What it changes may be lost.', 'It destroys nothing.'],
	['idempotentHint', 'A second call with the same arguments changes nothing more.', 'Each call has an effect of its own.'],
];

function hintsOf(annotations: ToolAnnotations): string[] {
	const known = HINTS.filter(([hint]) => annotations[hint] !== undefined && (hint === 'readOnlyHint' || annotations.readOnlyHint !== true));
	return known.length === 0 ? [] : [known.map(([hint, yes, no]) => (annotations[hint] ? yes : no)).join(' ')];
}

/** Writes JSON between fences that are longer than any that it holds. */
function block(value: Json): string {
	const text = JSON.stringify(value, null, 2);
	let longest = 2;
	// There may be more of them than a function takes arguments.
	for (const { length } of text.match(/`+/g) ?? []) longest = Math.max(longest, length);
	const fence = '`'.repeat(longest + 1);
	return `${fence}json\n${text}\n${fence}`;
}
