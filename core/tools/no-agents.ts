// The agents of a process that runs none.

import { GatewayError } from '../contract/errors.ts';
import type { Services } from './call-parts.ts';

export const NO_AGENTS: Services['agents'] = {
	of: () => ({
		run: async () => {
			throw new GatewayError('not_implemented', 'This process runs no agents.');
		},
	}),
};
