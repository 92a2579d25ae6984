// Tells what is at an address that does not speak MCP: another type of gateway, by its public documents.

import { TYPED } from '../program.ts';

const DOCUMENTS: readonly [type: string, path: string, hint: string][] = [
	['a2a', '/.well-known/agent-card.json', 'agents reach it by its agent card'],
	['skills', '/.well-known/agent-skills/index.json', `install it with: ${TYPED} skills add`],
	['utcp', '/.well-known/utcp', 'clients of UTCP read its manual'],
];

/** Returns a sentence that names the type of a gateway of another type; null where there is none. */
export async function otherType(url: string, signal: AbortSignal): Promise<string | null> {
	const found = await Promise.all(
		DOCUMENTS.map(async ([type, path, hint]) => {
			const response = await fetch(url + path, { redirect: 'manual', signal }).catch(() => null);
			await response?.body?.cancel().catch(() => undefined);
			// A server of pages answers each path with one.
			const isDocument = response?.status === 200 && /\bjson\b/.test(response.headers.get('content-type') ?? '');
			return isDocument ? { type, hint } : null;
		}),
	);
	const first = found.find((one) => one !== null);
	if (!first) return null;
	return `The gateway at ${url} is of type ${first.type}, and this command connects gateways of type mcp; ${first.hint}.`;
}
