// Announcements of runs over Redis (BULL_REDIS_HOST): lost while it is away, so their sender then takes the database.

import type { Config } from '../config/config.ts';
import type { Log } from '../contract/nouns.ts';
import type { Carrier } from '../store/carrier.ts';
import { connectCarrier } from './redis.ts';

const PING_MS = 1_000;

/** Connects in the background. */
export function createCarrier(target: NonNullable<Config['redis']>, log: Log): Carrier {
	const channel = `${target.keyPrefix}spoken`;
	const { publisher, subscriber } = connectCarrier(target);
	for (const client of [publisher, subscriber])
		client.on('error', (error: Error) => log.debug({ error: error.message }, 'the Redis of runs cannot be reached'));
	/** Whoever cannot hear must not speak there either: others may be as deaf. */
	let hears = false;
	subscriber.on('close', () => {
		hears = false;
	});
	const subscribe = (): Promise<void> =>
		subscriber.subscribe(channel).then(
			() => {
				hears = true;
			},
			(error: Error) => log.debug({ error: error.message }, 'announcements of runs cannot be received'),
		);
	subscriber.on('ready', () => void subscribe());
	for (const client of [publisher, subscriber]) client.connect().catch(() => undefined);
	// Without commands, a subscriber would not notice for minutes that its other end has disappeared.
	const listening = setInterval(() => hears && void subscriber.ping().catch(() => undefined), PING_MS).unref();
	return {
		async send(texts) {
			if (!hears) return false;
			try {
				for (const text of texts) await publisher.publish(channel, text);
				return true;
			} catch (error) {
				log.debug({ err: error }, 'changes of runs could not be announced over Redis');
				return false;
			}
		},
		listen: (listener) => void subscriber.on('message', (_channel: string, text: string) => listener(text)),
		async close() {
			clearInterval(listening);
			for (const client of [publisher, subscriber]) client.disconnect();
		},
	};
}
