// Shared by the tests of programs that people run, as npm delivers them. Each prints the address for its user; the browser that it opens is
// `true`, and the tests go to the address instead.

import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { until } from '../helpers/clock.ts';
import { COMPILE_CACHE } from '../helpers/compile-cache.ts';
import { approve } from '../helpers/oauth.ts';
import type { Stage } from './oauth-clients.ts';

export const program = (name: string): string => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));

/** Builds an environment with nothing of this machine but the path of programs, and a browser that does nothing. */
export const environment = (more: Record<string, string>): Record<string, string> => ({
	PATH: process.env['PATH'] ?? '',
	BROWSER: 'true',
	...COMPILE_CACHE,
	...more,
});

export interface User {
	/** Addresses to which the program sent its user. */
	visits: URL[];
	/** Addresses at which the user could not log in. */
	lost: URL[];
	/** The program's output. */
	text(): string;
}

/** Follows each address that the program prints for its user, and returns to the callback. */
export function playUser(output: Readable, { account }: Stage): User {
	const visits: URL[] = [];
	const lost: URL[] = [];
	let text = '';
	let seen = 0;
	output.on('data', (chunk: Buffer) => {
		text += chunk.toString('utf8');
		const [whole, address] = /(http:\S+\/authorize\?\S+)\s/.exec(text.slice(seen)) ?? [];
		if (whole === undefined || address === undefined) return;
		seen = text.indexOf(whole, seen) + whole.length;
		const asked = new URL(address);
		visits.push(asked);
		void approve(asked, account).then(async ({ left, url }) => {
			if (left) await untilFetched(url);
			else lost.push(asked);
		});
	});
	return { visits, lost, text: () => text };
}

/** Fetches the callback as soon as the program listens there: some print the address before they do, and a user takes longer than a test. */
const untilFetched = (url: URL): Promise<void> =>
	until(
		() =>
			fetch(url).then(
				() => true,
				() => false,
			),
		`answered: ${url}`,
	);
