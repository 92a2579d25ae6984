// An organization's slug: made once from its name, part of every gateway's URL.

import { randomBytes } from 'node:crypto';
import type { ReservedSegments } from '../http/reserved.ts';

const MAX_LENGTH = 48;
const TRIES = 50;

/** Yields candidates in order of preference: the name, then `-2`, `-3`…, then `org-<hex>` without end. */
export function* slugs(name: string, reserved: ReservedSegments): Generator<string> {
	const base = plainSlug(name);
	if (base !== '' && !reserved.has(base)) yield base;
	if (base !== '') {
		for (let count = 2; count <= TRIES; count++) yield `${base.slice(0, MAX_LENGTH - `-${count}`.length).replace(/-+$/, '')}-${count}`;
	}
	while (true) yield `org-${randomBytes(6).toString('hex')}`;
}

/** Returns the slug of the name itself, taken or not; empty when nothing is left of it. */
export function plainSlug(name: string): string {
	const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
	return ascii
		.replace(/[^a-z0-9]+/g, '-')
		.slice(0, MAX_LENGTH)
		.replace(/^-+|-+$/g, '');
}
