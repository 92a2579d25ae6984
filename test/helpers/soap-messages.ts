// Records what a `soap` tool sends: the tool of a fixture or of a schema that the test writes, against a raw recorder.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { compileArguments, type JsonObject } from '../../core/index.ts';
import importer from '../../importers/soap/index.ts';
import soap from '../../plugins/executors/soap/index.ts';
import { apiAt, loopbackCall, type Recorded, recorder } from './executor.ts';
import { documentOf, readOne, toolFrom } from './soap.ts';

export interface Sent extends Recorded {
	/** The content of the SOAP header, and that of the body. */
	header: string;
	inside: string;
}

/** Checks the arguments by the tool's schema, and returns the message that the tool of a fixture sends for them. */
export async function sent(
	t: TestContext,
	[name, key]: [name: string, key: string],
	args: JsonObject,
	more: JsonObject = {},
): Promise<Sent> {
	const upstream = await recorder(t);
	const api = apiAt(`${upstream.origin}/base`);
	const { parameters, executionConfig } = await toolFrom(name, key, api.baseUrl);
	assert.deepEqual(compileArguments(parameters)(structuredClone(args)), []);
	const config = await soap.config.validateAsync({ ...executionConfig, ...more });
	await soap.execute(args, config, loopbackCall(t, { api }));
	return opened(upstream.take());
}

function opened(request: Recorded): Sent {
	const text = request.body.toString();
	const [, header = '', inside = ''] =
		/(?:<soap:Header>(.*)<\/soap:Header>)?<soap:Body>(.*)<\/soap:Body><\/soap:Envelope>$/s.exec(text) ?? [];
	return { ...request, header, inside };
}

/** Returns the message of the element `Do` with this content, by this schema. */
export async function written(t: TestContext, schema: string, args: JsonObject, attributes?: string): Promise<string> {
	const upstream = await recorder(t);
	const api = apiAt(`${upstream.origin}/`);
	const { executionConfig, parameters } = importer.tool(await readOne(documentOf(schema, attributes)), api);
	assert.deepEqual(compileArguments(parameters)(structuredClone(args)), []);
	await soap.execute(args, await soap.config.validateAsync(executionConfig), loopbackCall(t, { api }));
	return opened(upstream.take()).inside;
}
