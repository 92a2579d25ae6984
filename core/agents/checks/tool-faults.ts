// Finds the faults of a tool that is defined in a pipeline, as they are found when a tool is saved.

import { asGatewayError, type ErrorDetail } from '../../contract/errors.ts';
import type { SaveContext } from '../../contract/kinds.ts';
import type { JsonObject } from '../../contract/nouns.ts';
import { pointerToken } from '../../kit/json-pointer.ts';
import { checkByPlugin } from '../../management/saving.ts';
import type { Registry } from '../../registry/registry.ts';

const SECRET = 'A pipeline must hold no secret: make a tool of the organization, whose secrets are sealed.';
/** The place of the config of a stored tool, which executors name. */
const STORED = '/executionConfig';

/** @param at JSON pointer of the config, which the paths begin with */
export async function toolFaults(
	{ executor: name, config: given }: { executor: string; config: JsonObject },
	at: string,
	{ registry, contextOf }: { registry: Registry; contextOf(plugin: string): SaveContext },
): Promise<ErrorDetail[]> {
	const executor = registry.get('executor', name);
	if (!executor?.creatable) return [{ path: at, message: `There is no type of tool "${name.slice(0, 64)}" that a pipeline may define.` }];
	try {
		const config = registry.parse('executor', name, given, at);
		const secret = registry.secretIn('executor', name, config);
		if (secret) return [{ path: [at, ...secret.map(pointerToken)].join('/'), message: SECRET }];
		await checkByPlugin(registry, { kind: 'executor', name, config }, contextOf(`executor:${name}`));
		return [];
	} catch (thrown) {
		const error = asGatewayError(thrown);
		if (!error || error.status >= 500) throw thrown;
		const { details, message } = error;
		return details.length === 0 ? [{ path: at, message }] : details.map((detail) => ({ ...detail, path: placed(detail.path, at) }));
	}
}

const placed = (path: string, at: string): string => {
	if (path === at || path.startsWith(`${at}/`)) return path;
	// The code of a stored tool lies beside its config.
	return at + (path.startsWith(`${STORED}/`) || path === STORED ? path.slice(STORED.length) : path);
};
