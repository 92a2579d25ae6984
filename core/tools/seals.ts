// Values that a client carries for a plugin between two requests, encrypted and authenticated for that plugin at that gateway.

import type { Seals } from '../contract/asking.ts';
import { PluginFault } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { isEnvelope, type Secrets } from '../secrets/envelopes.ts';

/** Longer texts are none of ours, and are not decrypted: 512 Ki. */
const MAX_CHARS = 512 * 1024;

/** @param owner the plugin, and the gateway or organization. @param secrets that log nothing: clients send whatever they like */
export function sealsOf(secrets: Secrets, { plugin, organizationId, at }: { plugin: string; organizationId: string; at: string }): Seals {
	const location = { organizationId, table: 'carried', row: `${plugin}:${at}` };
	return {
		seal(value, ttlMs) {
			if (!Number.isFinite(ttlMs)) throw new PluginFault(plugin, 'seal: ttlMs must be a finite number.');
			const sealed = secrets.sealJson({ value, until: Date.now() + ttlMs }, location);
			if (sealed.length > MAX_CHARS)
				throw new PluginFault(plugin, `seal: the value must have at most ${MAX_CHARS} characters when sealed.`);
			return sealed;
		},
		unseal(text) {
			if (typeof text !== 'string' || text.length > MAX_CHARS || !isEnvelope(text)) return null;
			const opened = openOrNull(() => secrets.openJson(text, location, 'The value'));
			return isObject(opened) && typeof opened['until'] === 'number' && opened['until'] > Date.now() ? (opened['value'] ?? null) : null;
		},
	};
}

function openOrNull(open: () => Json): Json {
	try {
		return open();
	} catch {
		// Altered, of another place, or sealed with another key: all are the same to whoever sent it.
		return null;
	}
}
