// The message that a call sends (SOAP 1.1 §4, SOAP 1.2 part 1 §5): envelope, headers, body.

import { invalid, type Json, type JsonObject } from '../../../core/index.ts';
import type { SoapConfig } from './config.ts';
import { createMatchBudget } from './match-budget.ts';
import type { MessageModel } from './model.ts';
import { createNames, ENCODINGS, ENVELOPES } from './names.ts';
import { createSizeBudget } from './size-budget.ts';
import { endsStep, inSlices, type Steps } from './steps.ts';
import { typeNamed, type Writing, writeContent, writeElement } from './writer.ts';

/** Name of the argument if the body is a single value. */
const VALUE = 'value';

/** @param security an element for the header, or the empty string. @throws validation_failed */
export async function writeEnvelope(config: SoapConfig, args: JsonObject, security: string): Promise<string> {
	const { request, version } = config;
	const names = createNames();
	const budgets = { matchBudget: createMatchBudget(), sizeBudget: createSizeBudget() };
	const writing: Writing = { config, names, ...budgets, pace: { elements: 0 }, isEncoded: request.encoded === true };
	const headers = security + (await inSlices(writeHeader(request, args[request.headerKey ?? ''], { ...writing, isEncoded: false })));
	const body = await inSlices(writeBody(request, args, writing));
	const head = headers === '' ? '' : `<soap:Header>${headers}</soap:Header>`;
	const open = `<soap:Envelope xmlns:soap="${ENVELOPES[version]}"${names.declarations()}>`;
	return `<?xml version="1.0" encoding="UTF-8"?>${open}${head}<soap:Body>${body}</soap:Body></soap:Envelope>`;
}

/** Returns the members of the body: the arguments without the header, under their names in the message. */
function* bodyMembers({ headerKey, arguments: named }: MessageModel, args: JsonObject): Steps<JsonObject> {
	if (headerKey === undefined && named === undefined) return args;
	// A member named `__proto__` is one like others.
	const members: JsonObject = Object.create(null);
	for (const [index, name] of Object.keys(args).entries()) {
		if (endsStep(index)) yield;
		const member = named !== undefined && Object.hasOwn(named, name) ? (named[name] ?? name) : name;
		if (name !== headerKey) members[member] = args[name] ?? null;
	}
	return members;
}

function* writeHeader({ header, headerKey }: MessageModel, value: Json | undefined, writing: Writing): Steps<string> {
	if (header === undefined || headerKey === undefined || value === undefined || value === null) return '';
	return (yield* writeContent(typeNamed(header, writing), value, `/${headerKey}`, writing)).content;
}

function* writeBody(request: MessageModel, args: JsonObject, writing: Writing): Steps<string> {
	const { root, element, type, encoded } = request;
	const members = yield* bodyMembers(request, args);
	if (root === 'elements') return (yield* writeContent(typeNamed(type ?? '', writing), members, '', writing)).content;
	// The config's rules require the element.
	if (!element) return '';
	const { version, style } = writing.config;
	const extra = encoded && style === 'rpc' ? ` soap:encodingStyle="${ENCODINGS[version]}"` : '';
	if (root === 'content') return yield* writeElement(element, members, '', writing, extra);
	const other = Object.keys(members).find((name) => name !== VALUE);
	if (other !== undefined) throw invalid(`/${other}`, `/${other} is unknown. Known: ${VALUE}.`);
	return yield* writeElement(element, members[VALUE] ?? null, `/${VALUE}`, writing, extra);
}

/** Writes the HTTP headers: content type and action (SOAP 1.1 §6.1.1, RFC 3902 §1). */
export function messageHeaders({ version, action }: SoapConfig): Record<string, string> {
	const quoted = `"${action.toWellFormed().replace(/[^\x21\x23-\x5b\x5d-\x7e]/gu, encodeURIComponent)}"`;
	const accept = 'text/xml, application/soap+xml, multipart/related';
	if (version === '1.1') return { accept, 'content-type': 'text/xml; charset=utf-8', soapaction: quoted };
	return { accept, 'content-type': `application/soap+xml; charset=utf-8${action === '' ? '' : `; action=${quoted}`}` };
}
