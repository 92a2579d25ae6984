// Extensions that a client asks for (specification 1.0, section 4.6).

import type { Incoming } from '../../core/index.ts';
import { TOOL_CALL } from './card.ts';

const HEADER = 'a2a-extensions';

/** "The agent SHOULD include the A2A-Extensions header in the response with the extensions that it activated." */
export function activated({ headers }: Pick<Incoming, 'headers'>): Record<string, string> {
	const asked = headers[HEADER]?.split(',').map((uri) => uri.trim()) ?? [];
	return asked.includes(TOOL_CALL) ? { [HEADER]: TOOL_CALL } : {};
}
