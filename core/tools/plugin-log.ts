// The log that plugins receive: each line names the plugin, and the request, the gateway and the tool at hand.

import type { Log } from '../contract/nouns.ts';
import type { CallParts } from './call-parts.ts';

/** Fields of every line, which no line of the plugin's can replace. */
export interface LogOrigin {
	/** `kind:name`. */
	plugin: string;
	requestId?: string;
	organizationId?: string;
	gateway?: string;
	tool?: string;
}

/** Returns what the lines of a call name. */
export const originOf = ({ plugin, organizationId, gateway, incoming, asked, entry }: CallParts): LogOrigin => ({
	plugin,
	organizationId,
	...(gateway && { gateway: gateway.organizationSlug + gateway.endpoint }),
	...(entry && { tool: entry.tool.id }),
	...(asked && { requestId: asked.requestId }),
	...(incoming && { requestId: incoming.id }),
});

export function pluginLog(log: Log, origin: LogOrigin): Log {
	const at =
		(level: keyof Log): Log[keyof Log] =>
		(fields, message) =>
			// A text without fields is spread into its characters.
			typeof fields === 'object' ? log[level]({ ...fields, ...origin }, message) : log[level]({ ...origin }, message ?? String(fields));
	return Object.freeze({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') });
}
