// Programs that people run, as they come from npm. Each prints where its user has to go; the browser that it opens is `true`, and the tests
// go there in its place.

import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { approve } from '../helpers/oauth.ts';
import type { Stage } from './oauth-clients.ts';

export const program = (name: string): string => fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));

/** Nothing of this machine's but what finds programs, and a browser that shows nothing. */
export const environment = (more: Record<string, string>): Record<string, string> => ({
	PATH: process.env['PATH'] ?? '',
	BROWSER: 'true',
	...more,
});

export interface User {
	/** Where the program has sent them. */
	visits: URL[];
	/** Where they could not be let in. */
	lost: URL[];
	/** What it has told them. */
	text(): string;
}

/** Goes where the program sends its user, each time, and back to it. */
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
			if (left) await fetch(url);
			else lost.push(asked);
		});
	});
	return { visits, lost, text: () => text };
}
