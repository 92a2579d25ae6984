// Asks a gateway's transport what its lists cost a model.

import Joi from 'joi';
import { asGatewayError, PluginFault } from '../contract/errors.ts';
import { answerOf } from '../process/hooks.ts';
import type { Registry } from '../registry/registry.ts';
import type { MountedGateway } from './mount.ts';

const TOKENS = Joi.object()
	.pattern(/^[a-z][a-z0-9_-]{0,31}$/, Joi.number().integer().min(0))
	.max(16)
	.required();

/** @throws PluginFault */
export async function estimateTokens(
	mounted: MountedGateway | null,
	{ registry }: { registry: Registry },
): Promise<Record<string, number> | null> {
	if (!mounted) return null;
	const transport = registry.get('transport', mounted.gateway.type);
	if (!transport?.tokens) return null;
	const hook = { plugin: mounted.plugin, hook: 'tokens' };
	const answer: unknown = await answerOf(hook, () => transport.tokens?.(mounted.shelf.list(), mounted.config));
	const { error, value } = TOKENS.validate(answer, { convert: false });
	if (error) throw new PluginFault(mounted.plugin, `tokens must return up to 16 whole numbers by name: ${error.message}.`);
	return value;
}

/** A gateway that cannot be prepared, such as one whose secret is unreadable, costs nobody tokens. @throws unavailable, and what is no GatewayError */
export function notServed(thrown: unknown): null {
	const error = asGatewayError(thrown);
	if (!error || error.code === 'unavailable') throw thrown;
	return null;
}
