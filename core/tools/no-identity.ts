// Identity where no one is known.

import type { Identity } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';

/** The identity of a call without a gateway, at which no one is known. */
export const NO_IDENTITY: Identity = Object.freeze<Identity>({
	credential: async () => null,
	token: async () => {
		throw new GatewayError('unauthorized', 'There is no gateway that could take a token.');
	},
	password: async () => null,
	member: async () => null,
	again: async () => null,
	visitor: async () => null,
	logIn: async () => null,
	forgotPassword: async () => undefined,
});
