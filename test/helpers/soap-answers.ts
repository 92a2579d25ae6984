// Runs a `soap` tool, of a fixture or of a schema that the test writes, against a server that gives one response.

import assert from 'node:assert/strict';
import type { OutgoingHttpHeaders } from 'node:http';
import type { TestContext } from 'node:test';
import { compileArguments, type Json, type ToolResult } from '../../core/index.ts';
import importer from '../../importers/soap/index.ts';
import soap from '../../plugins/executors/soap/index.ts';
import { apiAt, loopbackCall } from './executor.ts';
import { content, documentOf, readOne, toolFrom } from './soap.ts';
import { httpUpstream } from './upstream.ts';

const ENVELOPE = 'http://schemas.xmlsoap.org/soap/envelope/';
export const ENVELOPE_12 = 'http://www.w3.org/2003/05/soap-envelope';
const XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';

export const enveloped = (body: string, header = '', uri = ENVELOPE): string =>
	`<?xml version="1.0"?><e:Envelope xmlns:e="${uri}" ${XSI} xmlns:xsd="http://www.w3.org/2001/XMLSchema">${header && `<e:Header>${header}</e:Header>`}<e:Body>${body}</e:Body></e:Envelope>`;

export interface Answer {
	status?: number;
	headers?: OutgoingHttpHeaders;
	body?: string | Buffer;
}

export interface Asked {
	tool?: [name: string, key: string];
	/** The content of the element `Do`, in place of a fixture. */
	schema?: string;
	args?: { [name: string]: Json };
}

/** Returns the tool's result for the response of a server. */
export async function answer(
	t: TestContext,
	{ status = 200, headers = {}, body = '' }: Answer,
	{ tool, schema, args = {} }: Asked = {},
): Promise<ToolResult> {
	const upstream = await httpUpstream(t, (_request, response) => {
		response.writeHead(status, { 'content-type': 'text/xml; charset=utf-8', ...headers }).end(body);
	});
	const api = apiAt(`${upstream.origin}/`);
	const draft = tool ? await toolFrom(tool[0], tool[1], api.baseUrl) : importer.tool(await readOne(documentOf(schema ?? content(''))), api);
	const config = await soap.config.validateAsync({ ...draft.executionConfig, endpoint: `${upstream.origin}/` });
	const result = await soap.execute(args, config, loopbackCall(t, { api }));
	// The result must match the promised schema, whatever arrived.
	if (draft.outputSchema && result.structured !== undefined)
		assert.deepEqual(compileArguments(draft.outputSchema)(structuredClone(result.structured) as never), []);
	return result;
}

export const textOf = ({ content: blocks }: ToolResult): string =>
	blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n');

/** Makes a sequence of elements, each of them optional. */
export const sequence = (...elements: string[]): string =>
	`<xs:sequence>${elements.map((element) => `<xs:element minOccurs="0" ${element}/>`).join('')}</xs:sequence>`;
