// Answers calls of the gateway's own tools, whether they are listed or not.

import { asGatewayError, GatewayError, invalid, isObject, type JsonObject, pointerToken } from '../../../core/index.ts';
import { encodeResult } from '../content.ts';
import type { Exchange, Method } from '../dispatch.ts';
import { mayBeOwn, ownNames, type Role, roleNamed } from './own-tools.ts';
import { missing, runCode } from './run-code.ts';
import { searchTools } from './search-tools.ts';

/**
 * Runs a tool of the gateway's own, or by `run` one of the organization.
 * @throws what `run` throws; validation_failed for arguments that do not fit
 */
export function callAny(exchange: Exchange, run: Method): Promise<JsonObject> {
	const { name } = exchange.message.params;
	return typeof name === 'string' && mayBeOwn(name) ? callNamed(name, exchange, run) : run(exchange);
}

async function callNamed(name: string, exchange: Exchange, run: Method): Promise<JsonObject> {
	const { call, message } = exchange;
	const { arguments: args } = message.params;
	if (call.caller?.scopes.includes('tools:read')) {
		const role = roleNamed(name, ownNames(await call.tools()));
		return role ? callOwn(role, isObject(args) ? args : {}, exchange, run) : run(exchange);
	}
	// Whoever may list nothing cannot know which names are taken: a tool of the organization comes first.
	return run(exchange).catch((thrown: unknown) => {
		const role = asGatewayError(thrown)?.code === 'tool_not_found' ? roleNamed(name) : null;
		if (!role) throw thrown;
		return callOwn(role, isObject(args) ? args : {}, exchange, run);
	});
}

async function callOwn(role: Role, args: JsonObject, exchange: Exchange, run: Method): Promise<JsonObject> {
	if (role === 'execute') return executeTool(args, exchange, run);
	if (role === 'code') return encodeResult(await runCode(args, exchange.call), null);
	const found = await searchTools(args, exchange.call);
	return encodeResult({ content: [{ type: 'text', text: JSON.stringify(found) }], structured: found }, null);
}

/** Takes the path of a direct call, under the tool's own name and arguments. */
async function executeTool({ name, arguments: args, ...others }: JsonObject, exchange: Exchange, run: Method): Promise<JsonObject> {
	if (typeof name !== 'string') throw invalid('/name', '"name" is required: the name of a tool.');
	if (!isObject(args ?? {})) throw invalid('/arguments', '"arguments" must be an object that fits the schema of the tool.');
	const [other] = Object.keys(others);
	// The tool would run without what the caller meant to give it.
	if (other !== undefined)
		throw invalid(`/${pointerToken(other)}`, `"${other.slice(0, 128)}" is not known: what the tool gets is in "arguments".`);
	const { message, call } = exchange;
	try {
		return await run({ ...exchange, message: { ...message, params: { ...message.params, name, arguments: args ?? {} } } });
	} catch (thrown) {
		// The name is an argument here, which a model can correct.
		if (asGatewayError(thrown)?.code !== 'tool_not_found') throw thrown;
		throw new GatewayError('not_found', await missing(name, call));
	}
}
