// Turns faults (SOAP 1.1 §4.4, SOAP 1.2 part 1 §5.4) into text that a model can read: code, reason, detail.

import { excerptOf, type ToolResult, type XmlElement } from '../../../core/index.ts';

const MAX_CODE_CHARS = 100;
const MAX_WORDS_CHARS = 1000;
const MAX_DETAIL_CHARS = 2048;

/** @param detail detail of the fault as text; empty if it has none */
export function faultResult(fault: XmlElement, detail: string, secrets: readonly string[]): ToolResult {
	const code = excerptOf(codeOf(fault), MAX_CODE_CHARS, secrets);
	const words = excerptOf(textAt(fault, 'faultstring') || textAt(fault, 'Reason', 'Text'), MAX_WORDS_CHARS, secrets);
	const shown = excerptOf(detail, MAX_DETAIL_CHARS, secrets);
	const lines = [`SOAP fault${code && ` ${code}`}: ${words || 'no reason is given.'}`, shown && `Detail: ${shown}`];
	return { content: [{ type: 'text', text: lines.filter(Boolean).join('\n') }], isError: true };
}

export const detailOf = (fault: XmlElement): XmlElement | undefined => childOf(fault, 'detail') ?? childOf(fault, 'Detail');

/** Reads the code, such as `Client.Authentication`, or with a subcode `Sender (InvalidOrder)`. */
function codeOf(fault: XmlElement): string {
	const outer = local(textAt(fault, 'faultcode') || textAt(fault, 'Code', 'Value'));
	const inner = local(textAt(fault, 'Code', 'Subcode', 'Value'));
	return inner === '' ? outer : `${outer} (${inner})`;
}

const local = (name: string): string => name.trim().replace(/^[^:\s]{1,200}:(?=[^/\s])/, '');

const childOf = (element: XmlElement | undefined, name: string): XmlElement | undefined =>
	element?.children.find((child) => child.local === name);

function textAt(element: XmlElement, ...path: string[]): string {
	const found = path.reduce<XmlElement | undefined>(childOf, element);
	return found?.text.trim() ?? '';
}
