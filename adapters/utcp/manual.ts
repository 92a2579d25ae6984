// The manual: what the tools are, and how a client calls them.

import { type Call, GatewayError, type Incoming, type JsonObject, type Reply, type Tool } from '../../core/index.ts';
import { authOf } from './auth.ts';
import { answer, digestOf, type Tools } from './document.ts';
import { BODY, inputsOf } from './inputs.ts';
import { strictSchema } from './strict-schema.ts';

export interface Config {
	discovery: 'full' | 'minimal';
}

const UTCP_VERSION = '1.1.0';
const MAX_TAGS = 8;
/** Bytes of the digest that make the last number of a version, which every client holds exactly. */
const NUMBER_BYTES = 6;

/** The manual of a caller's tools. */
export const ownManual = async (request: Incoming, _config: Config, call: Call): Promise<Reply> =>
	manual(await call.tools(), request, call);

/** The manual for everybody: all tools, or only how to get the manual of a caller. */
export async function publicManual(request: Incoming, { discovery }: Config, call: Call): Promise<Reply> {
	return discovery === 'full' ? manual(await call.published(), request, call) : manual([], request, call, [entryOf(request, call)]);
}

/** @param others what it has before the tools */
function manual(tools: Tools, request: Incoming, call: Call, others: JsonObject[] = []): Promise<Reply> {
	const version = `1.0.${digestOf(tools).readUIntBE(0, NUMBER_BYTES)}`;
	const head = `{"utcp_version":"${UTCP_VERSION}","manual_version":"${version}","tools":[${others.map((one) => JSON.stringify(one)).join()}`;
	return answer({ kind: 'manual', head, tail: ']}', tools, describe: describer(request, call) }, request, call);
}

/** The caller's tools, each as the manual has it. */
export async function listTools(request: Incoming, _config: Config, call: Call): Promise<Reply> {
	const tools = await call.tools();
	return answer({ kind: 'list', head: '{"tools":[', tail: ']}', tools, describe: describer(request, call) }, request, call);
}

export async function showTool(request: Incoming, _config: Config, call: Call): Promise<Reply> {
	const { name = '' } = request.params;
	const tool = (await call.tools()).find((one) => one.name === name);
	if (!tool) throw new GatewayError('tool_not_found', `There is no tool "${name.slice(0, 128)}" here.`);
	return { status: 200, headers: { 'cache-control': 'private, no-cache' }, body: describer(request, call)(tool) };
}

/** Returns a function that shows tools as this client calls them. */
function describer({ base }: Incoming, call: Call): (tool: Readonly<Tool>) => JsonObject {
	const auth = authOf(call.admission());
	return ({ name, description, parameters, outputSchema, annotations, tags = [] }) => ({
		...{ name, description, tags: [...new Set([...tags, ...tagsOf(name, annotations)])] },
		...{ inputs: inputsOf(parameters), outputs: outputSchema ? strictSchema(outputSchema) : {} },
		tool_call_template: {
			...{ call_template_type: 'http', http_method: 'POST', url: `${base}/tools/${encodeURIComponent(name)}` },
			...{ content_type: 'application/json', body_field: BODY, ...(auth && { auth }) },
		},
	});
}

/** The only entry of a manual that shows no tools: it fetches the manual of a caller, and says how they log in. */
function entryOf({ base }: Incoming, call: Call): JsonObject {
	const admission = call.admission();
	const auth = authOf(admission);
	const ways = admission.flatMap(({ scheme }) => (scheme?.description ? [scheme.description] : []));
	const how = ways.length > 0 ? ` ${ways.join('; or ')}.` : '';
	return {
		...{ name: 'manual', description: `Gets the manual of this gateway, with its tools, for those who log in.${how}`, tags: ['manual'] },
		...{ inputs: { type: 'object', properties: {} }, outputs: {} },
		tool_call_template: { call_template_type: 'http', http_method: 'GET', url: base, ...(auth && { auth }) },
	};
}

/** The words of the name, for clients that search by tags, and what the tool is known to do. */
function tagsOf(name: string, { readOnlyHint, destructiveHint }: Tool['annotations']): string[] {
	const words = name
		.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
		.toLowerCase()
		.split(/[^a-z0-9]+/);
	const hints = [...(readOnlyHint ? ['read-only'] : []), ...(destructiveHint && !readOnlyHint ? ['destructive'] : [])];
	return [...new Set(words.filter((word) => word.length > 2))].slice(0, MAX_TAGS).concat(hints);
}
