// The end of the keys of one service in a Redis that others use, too.

import type { Config } from '../core/config/config.ts';
import { createLog } from '../core/config/log.ts';
import { createShared, defineScript } from '../core/shared/redis.ts';

/** A key without a name is the prefix of all. */
const DROP = defineScript("for _, key in ipairs(redis.call('KEYS', KEYS[1] .. '*')) do redis.call('DEL', key) end return 0");
const DEADLINE_MS = 5_000;

/** Removes the keys of a service that has stopped; those of a Redis that is gone are gone with it. */
export async function dropKeys(redis: NonNullable<Config['redis']>): Promise<void> {
	const shared = await createShared(redis, createLog('silent'), DEADLINE_MS);
	await shared.run(DROP, [''], []).catch(() => undefined);
	await shared.close();
}
