// How a session begins: `initialize` of the revisions with a handshake, `server/discover` of 2026-07-28. Both are answered without the gateway where
// it is away, so that a client is never kept waiting.

import { CODES, isObject, type Json, type JsonObject, MessageFault } from '../wire/messages.ts';
import { MODERN_VERSION, resultOf, SERVER_INFO } from './answers.ts';
import type { Context } from './context.ts';
import { pause } from './deadline.ts';
import type { Handshake } from './handshake.ts';
import type { Relay } from './relay.ts';
import type { Running } from './running.ts';

const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

const CAPABILITIES: JsonObject = {
	tools: { listChanged: true },
	prompts: { listChanged: true },
	resources: { listChanged: true, subscribe: true },
	completions: {},
};

/** @param begun settles when it is known whether the gateway is one that can be used */
export async function initialize(running: Running, context: Context, handshake: Handshake, begun: Promise<void>): Promise<void> {
	const { params } = running.request;
	const { protocolVersion } = params;
	if (typeof protocolVersion !== 'string') throw new MessageFault(CODES.invalidParams, 'params.protocolVersion must be a string.');
	handshake.begin(params);
	const opening = handshake.ready().catch(() => begun.then(() => null));
	const opened = await Promise.race([opening, pause(context.limits.handshakeMs, context.ending).then(() => null)]);
	await running.answer(
		resultOf(running.request, {
			protocolVersion: opened?.version ?? (VERSIONS.includes(protocolVersion) ? protocolVersion : '2025-11-25'),
			capabilities: CAPABILITIES,
			serverInfo: SERVER_INFO,
			...instructionsOf(opened?.instructions, context),
		}),
	);
}

export async function discover(running: Running, context: Context, relay: Relay): Promise<void> {
	const asking = relay.pass(running).then(
		({ message: { result } }) => (isObject(result) ? result : null),
		() => null,
	);
	const said = await Promise.race([asking, pause(context.limits.handshakeMs, context.ending).then(() => null)]);
	const answer = { supportedVersions: [MODERN_VERSION], capabilities: CAPABILITIES, ...instructionsOf(said?.['instructions'], context) };
	await running.answer(resultOf(running.request, answer, true));
}

/** Says what the model reads about these tools: how they are called, and what the gateway says. */
function instructionsOf(given: Json | undefined, { settings }: Context): { instructions?: string } {
	const how =
		settings.mode === 'skill-first'
			? 'Find tools by svc_search, and call them by svc_execute. The prompt svc-overview has an index of tools and skills.'
			: '';
	const instructions = [how, typeof given === 'string' ? given : ''].filter((part) => part !== '').join('\n\n');
	return instructions === '' ? {} : { instructions };
}
