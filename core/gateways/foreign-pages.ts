// Pages of other sites. A browser sends their requests from where its user is, so they must not pass where that is all that admits.

import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Caller, Incoming } from '../contract/nouns.ts';
import { isLocal } from '../http/origins.ts';
import type { MountedMethod } from './authenticate.ts';
import { ANONYMOUS } from './check-caller.ts';

/**
 * Refuses a page of another site where a caller without a name is admitted by an address rule, or the service is on its user's own machine. An
 * open gateway at a public address serves pages of any site: they could call it from their own servers. @throws forbidden
 */
export function refuseForeignPage(
	{ origin }: Incoming,
	{ caller, by }: { caller: Caller; by: Pick<MountedMethod, 'rules'> },
	config: Pick<Config, 'publicUrls'>,
): void {
	if (origin.value === null || origin.trusted || caller.subject !== ANONYMOUS) return;
	if (by.rules.allowedIpRanges || isLocal(config))
		throw new GatewayError('forbidden', 'This gateway admits by address, and takes no requests of pages of this Origin.');
}
