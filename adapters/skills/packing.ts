// Packs archives a few at a time. Accounts take turns, so that one with many or large skills does not keep those of others waiting.

import { type Call, FairQueue, GatewayError } from '../../core/index.ts';

/** Archives that are packed at once, of which one account has one while others may want one, too; and those that wait. */
const LIMITS = { units: 4, computing: 4, waiting: 400, waitingBytes: Number.MAX_SAFE_INTEGER };

const queue = new FairQueue<() => void>(LIMITS);

/** @throws rate_limited when too many archives of the account wait */
export async function packInTurn<T>(call: Pick<Call, 'account' | 'gateway'>, pack: () => Promise<T>): Promise<T> {
	const asked = { account: await call.account(), organization: call.gateway?.organizationId ?? '', sizeBytes: 0, units: 1 };
	const { promise: turn, resolve } = Promise.withResolvers<void>();
	if (!queue.add(resolve, asked))
		throw new GatewayError('rate_limited', 'Too many skills of this account are packed: try again in a minute.');
	begin();
	await turn;
	try {
		return await pack();
	} finally {
		queue.giveBack(asked);
		queue.compute(asked.account, -1);
		begin();
	}
}

function begin(): void {
	for (let next = queue.take(); next; next = queue.take()) next();
}
