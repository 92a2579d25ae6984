// Writes the result of a tool as an artifact.

import { type ContentBlock, isObject, type ToolResult } from '../../core/index.ts';
import type { Artifact, Part } from './wire.ts';

const JSON_TYPE = 'application/json';

/** @param modes media types that the client takes; null: it did not say */
export function artifactOf(
	{ content, structured }: ToolResult,
	{ id, name, modes }: { id: string; name: string; modes: string[] | null },
): Artifact {
	const data: Part[] = structured === undefined ? [] : [dataPart(structured, modes)];
	const parts = [...data, ...content.filter((block) => !isSame(block, structured)).map(partOf)];
	return { artifactId: id, name, parts: parts.length === 0 ? [{ text: '', mediaType: 'text/plain' }] : parts };
}

/** "Agents SHOULD tailor their output to the accepted modes" (specification 1.0, section 3.2.2). */
function dataPart(data: NonNullable<ToolResult['structured']> | null, modes: string[] | null): Part {
	const isTaken = modes === null || modes.some((mode) => mode === JSON_TYPE || mode === '*/*' || mode === 'application/*');
	const isText = !isTaken && modes.some((mode) => mode.startsWith('text/'));
	return isText ? { text: JSON.stringify(data), mediaType: 'text/plain' } : { data, mediaType: JSON_TYPE };
}

/** Whether a text says in JSON what the structured result says already. */
function isSame(block: ContentBlock, structured: ToolResult['structured']): boolean {
	if (block.type !== 'text' || structured === undefined) return false;
	if (isObject(structured)) return /^\s*\{\s*["}]/.test(block.text);
	// A label of core begins with a bracket, too.
	if (Array.isArray(structured)) return /^\s*\[\s*[[{"\]\dtfn-]/.test(block.text);
	return block.text === String(structured) || block.text === JSON.stringify(structured);
}

function partOf(block: ContentBlock): Part {
	switch (block.type) {
		case 'text':
			return { text: block.text, mediaType: 'text/plain' };
		case 'image':
		case 'audio':
			return { raw: block.data, mediaType: block.mimeType };
		case 'resource_link':
			return { url: block.uri, filename: block.name, ...(block.mimeType !== undefined && { mediaType: block.mimeType }) };
		default:
			return resourcePart(block.resource);
	}
}

function resourcePart({ uri, mimeType, text, blob }: Extract<ContentBlock, { type: 'resource' }>['resource']): Part {
	if (blob !== undefined) return { raw: blob, mediaType: mimeType ?? 'application/octet-stream', filename: uri };
	return { text: text ?? '', mediaType: mimeType ?? 'text/plain', filename: uri };
}

/** The text of a failure. */
export const textOf = ({ content }: ToolResult): string =>
	content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n') || 'The tool failed.';
