// The message that a call sends (SOAP 1.1 §4, SOAP 1.2 part 1 §5): envelope, headers, body.

import { invalid, type Json, type JsonObject, TimeSlice } from '../../../core/index.ts';
import type { SoapConfig } from './config.ts';
import { createMatchBudget } from './match-budget.ts';
import type { MessageModel } from './model.ts';
import { createNames, ENCODINGS, ENVELOPES } from './names.ts';
import { createSizeBudget } from './size-budget.ts';
import { type Steps, typeNamed, type Writing, writeContent, writeElement } from './writer.ts';

/** Name of the argument if the body is a single value. */
const VALUE = 'value';

/** @param security an element for the header, or the empty string. @throws validation_failed */
export async function writeEnvelope(config: SoapConfig, args: JsonObject, security: string): Promise<string> {
	const { request, version } = config;
	const names = createNames();
	const budgets = { matchBudget: createMatchBudget(), sizeBudget: createSizeBudget() };
	const writing: Writing = { config, names, ...budgets, isEncoded: request.encoded === true };
	const { [request.headerKey ?? '']: header, ...rest } = args;
	const members = Object.fromEntries(Object.entries(rest).map(([name, value]) => [request.arguments?.[name] ?? name, value]));
	const headers = security + (await inSlices(writeHeader(request, header, { ...writing, isEncoded: false })));
	const body = await inSlices(writeBody(request, members, writing));
	const head = headers === '' ? '' : `<soap:Header>${headers}</soap:Header>`;
	const open = `<soap:Envelope xmlns:soap="${ENVELOPES[version]}"${names.declarations()}>`;
	return `<?xml version="1.0" encoding="UTF-8"?>${open}${head}<soap:Body>${body}</soap:Body></soap:Envelope>`;
}

async function inSlices<T>(steps: Steps<T>): Promise<T> {
	const slice = new TimeSlice();
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
		if (slice.isOverNow) await slice.next();
	}
}

function* writeHeader({ header, headerKey }: MessageModel, value: Json | undefined, writing: Writing): Steps<string> {
	if (header === undefined || headerKey === undefined || value === undefined || value === null) return '';
	return (yield* writeContent(typeNamed(header, writing), value, `/${headerKey}`, writing)).content;
}

function* writeBody({ root, element, type, encoded }: MessageModel, members: JsonObject, writing: Writing): Steps<string> {
	if (root === 'elements') return (yield* writeContent(typeNamed(type ?? '', writing), members, '', writing)).content;
	// The config's rules require the element.
	if (!element) return '';
	const { version, style } = writing.config;
	const extra = encoded && style === 'rpc' ? ` soap:encodingStyle="${ENCODINGS[version]}"` : '';
	if (root === 'content') return yield* writeElement(element, members, '', writing, extra);
	const { [VALUE]: value, ...others } = members;
	const [other] = Object.keys(others);
	if (other !== undefined) throw invalid(`/${other}`, `/${other} is unknown. Known: ${VALUE}.`);
	return yield* writeElement(element, value ?? null, `/${VALUE}`, writing, extra);
}

/** Writes the HTTP headers: content type and action (SOAP 1.1 §6.1.1, RFC 3902 §1). */
export function messageHeaders({ version, action }: SoapConfig): Record<string, string> {
	const quoted = `"${action.toWellFormed().replace(/[^\x21\x23-\x5b\x5d-\x7e]/gu, encodeURIComponent)}"`;
	const accept = 'text/xml, application/soap+xml, multipart/related';
	if (version === '1.1') return { accept, 'content-type': 'text/xml; charset=utf-8', soapaction: quoted };
	return { accept, 'content-type': `application/soap+xml; charset=utf-8${action === '' ? '' : `; action=${quoted}`}` };
}
