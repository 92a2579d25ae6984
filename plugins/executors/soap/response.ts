// Turns an answer into a tool's result: results as data, faults and answers that are not SOAP as text that a model can read.

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
	decodeXml,
	decodeXmlGradually,
	excerptOf,
	failedResult,
	isObject,
	type Json,
	type JsonObject,
	type JsonSchema,
	jsonResult,
	type OutboundResponse,
	parseXmlGradually,
	statusLine,
	type ToolResult,
	withoutSecrets,
	type XmlElement,
} from '../../../core/index.ts';
import type { SoapConfig } from './config.ts';
import { detailOf, faultResult } from './fault.ts';
import type { MessageModel } from './model.ts';
import { readParts } from './multipart.ts';
import { ENVELOPES } from './names.ts';
import { printJson } from './printer.ts';
import { createReading, type Reading, readAnything, readElement } from './reader.ts';
import { inSlices, type Steps } from './steps.ts';

const BOUNDS = { maxDepth: 100, maxNodes: 200_000 };
/** A longer text is parsed in a turn of its own. */
const LARGE_CHARS = 64 * 1024;
const MAX_BLANK_BYTES = 16;
const EXCERPT_BYTES = 8192;
const MAX_EXCERPT_CHARS = 2048;
const MAX_FAULT_CHARS = 300;

interface Envelope {
	root: XmlElement;
	header: XmlElement | undefined;
	body: XmlElement;
	attachments: ReadonlyMap<string, Buffer>;
}

/** The parts of the call that its answer depends on. */
export interface ResponseOptions {
	/** The tool's output schema, which the data must still fit when it is cut. */
	schema: JsonSchema | null;
	/** Values that an upstream may repeat and the caller must not read. */
	secrets: readonly string[];
	signal: AbortSignal;
}

export async function readResponse(response: OutboundResponse, config: SoapConfig, asked: ResponseOptions): Promise<ToolResult> {
	const { schema, secrets, signal } = asked;
	if (isBlank(response.body)) return response.status < 300 ? accepted(response) : failedResult(response, secrets);
	const read = await readEnvelope(response, signal);
	if ('fault' in read) {
		if (response.status === 202 && !config.response) return accepted(response);
		return response.status >= 400 ? failedResult(response, secrets) : noMessage(response, read.fault, secrets);
	}
	try {
		const reading = await inSlices(createReading(config, read.root, config.response?.encoded === true, read.attachments), signal);
		const fault = faultIn(read.body, config);
		if (fault) return faultResult(fault, await readDetail(fault, reading, signal), secrets);
		if (response.status >= 400) return failedResult(response, secrets);
		const result = await inSlices(resultOf(read, config, reading), signal);
		const text = await inSlices(printJson(result), signal);
		if (text.length > LARGE_CHARS) await nextTurn();
		return await jsonResult(withoutSecrets(text, secrets), schema);
	} catch (error) {
		signal.throwIfAborted();
		return noMessage(response, error instanceof Error ? error.message : '', secrets);
	}
}

async function readEnvelope(response: OutboundResponse, signal: AbortSignal): Promise<Envelope | { fault: string }> {
	try {
		const { root: part, attachments } = readParts(response);
		const root = await parseXmlGradually(await decodeXmlGradually(part.body, part.contentType), BOUNDS, signal);
		const isEnvelope = root.local === 'Envelope' && Object.values<string>(ENVELOPES).includes(root.uri);
		const inside = (local: string): XmlElement | undefined =>
			root.children.find((child) => child.local === local && child.uri === root.uri);
		const body = inside('Body');
		return isEnvelope && body
			? { root, header: inside('Header'), body, attachments }
			: { fault: 'it is XML, but not a SOAP envelope with a body' };
	} catch (error) {
		signal.throwIfAborted();
		return { fault: error instanceof Error ? error.message : '' };
	}
}

/** Whether the body is empty, or only line breaks, with which some servers end every answer. */
const isBlank = (body: Buffer): boolean => body.length <= MAX_BLANK_BYTES && body.toString('latin1').trim() === '';

/** In whatever namespace, as servers get it wrong, unless the operation itself answers with an element of that name. */
function faultIn({ children }: XmlElement, { response }: SoapConfig): XmlElement | undefined {
	const isElsewhere = ({ uri }: XmlElement): boolean => !Object.values<string>(ENVELOPES).includes(uri);
	return children.find((child) => child.local === 'Fault' && !(response?.element?.name === 'Fault' && isElsewhere(child)));
}

/** Empty where there is none. What is wrong with it is no reason to hide the fault. */
async function readDetail(fault: XmlElement, reading: Reading, signal: AbortSignal): Promise<string> {
	const detail = detailOf(fault);
	if (!detail) return '';
	try {
		const read = await inSlices(readAnything(detail, reading), signal);
		return typeof read === 'string' ? read.trim() : await inSlices(printJson(read), signal);
	} catch (error) {
		signal.throwIfAborted();
		return `cannot be read, as ${error instanceof Error ? error.message : ''}.`;
	}
}

function accepted({ status }: OutboundResponse): ToolResult {
	return { content: [{ type: 'text', text: `${statusLine(status)}: the service accepted the message and returned no answer.` }] };
}

function noMessage({ status, headers, body }: OutboundResponse, fault: string, secrets: readonly string[]): ToolResult {
	const excerpt = excerptOf(decodeXml(body.subarray(0, EXCERPT_BYTES), headers['content-type']), MAX_EXCERPT_CHARS, secrets);
	const text = `${statusLine(status)}, but the answer cannot be read: ${excerptOf(fault, MAX_FAULT_CHARS, secrets).replace(/\.$/, '')}.\n${excerpt}`;
	return { content: [{ type: 'text', text: text.trimEnd() }], isError: true };
}

function* resultOf({ header, body }: Envelope, config: SoapConfig, reading: Reading): Steps<Json> {
	const { response } = config;
	if (!response) return yield* readAnything(body, reading);
	const result = yield* readBody(body, response, config, reading);
	if (result === null) throw new Error(`it holds ${namesOf(body)}, not ${response.element?.name ?? 'the answer of the operation'}`);
	if (header && response.header !== undefined && response.headerKey !== undefined) {
		result[response.headerKey] = yield* readElement(response.header, { ...header, attributes: [] }, reading);
	}
	return result;
}

const namesOf = ({ children }: XmlElement): string =>
	children
		.slice(0, 3)
		.map(({ local }) => local)
		.join(', ') || 'nothing';

/** Reads the body; null if it holds another element than the operation's answer. The name is checked only in document style. */
function* readBody(
	body: XmlElement,
	{ root, element, type }: MessageModel,
	{ style }: SoapConfig,
	reading: Reading,
): Steps<JsonObject | null> {
	if (root === 'elements') return membersOf(yield* readElement(type ?? '', { ...body, attributes: [] }, reading));
	const named = body.children.find(({ local }) => local === element?.name);
	const found = named ?? (style === 'rpc' ? body.children[0] : undefined);
	if (!found || !element) return null;
	const value = yield* readElement(element.type, found, reading);
	return root === 'value' ? { value } : membersOf(value);
}

/** Returns the members; an element that is nil has none. */
const membersOf = (value: Json): JsonObject => (isObject(value) ? value : {});
