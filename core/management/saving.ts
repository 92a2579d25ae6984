// Asks plugins about a config that is saved, each in its time.

import { PluginFault } from '../contract/errors.ts';
import type { SaveContext } from '../contract/kinds.ts';
import type { JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { answerOf, assertNothing, resultOf } from '../process/hooks.ts';
import type { Registry } from '../registry/registry.ts';

/** The kinds whose plugins may check a config when its row is saved. */
type Checking = 'auth' | 'executor' | 'provider';

/** Has a plugin check a config, as it has parsed it. @throws PluginFault, and what the plugin refuses with */
export async function checkByPlugin(
	registry: Registry,
	{ kind, name, config }: { kind: Checking; name: string; config: JsonObject },
	context: SaveContext,
): Promise<void> {
	const plugin = registry.get(kind, name);
	if (!plugin?.check) return;
	const hook = { plugin: `${kind}:${name}`, hook: 'check' };
	assertNothing(hook, await answerOf(hook, () => plugin.check?.(config, context)));
}

/** Returns the agent that tools of a config run, and the place of its id in the request's body; null when they run none. @throws PluginFault */
export function agentOfConfig(registry: Registry, name: string, config: JsonObject): { id: string; at: string } | null {
	const executor = registry.get('executor', name);
	if (!executor?.agent) return null;
	const hook = { plugin: `executor:${name}`, hook: 'agent' };
	const named: unknown = resultOf(hook, () => executor.agent?.(config));
	if (isObject(named) && typeof named['id'] === 'string' && typeof named['at'] === 'string' && named['at'].startsWith('/'))
		return { id: named['id'], at: named['at'] };
	throw new PluginFault(hook.plugin, 'agent must return an object with a string as id, and a JSON pointer as at.');
}
