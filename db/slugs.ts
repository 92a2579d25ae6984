// Finds a slug for a new organization: the first free one of its candidates.

import type { Sequelize, Transaction } from 'sequelize';
import { GatewayError } from '../core/contract/errors.ts';
import { rows } from './rows.ts';

/** Candidates that are checked at once: a name with all its numbers, and some random ones. */
const BATCH = 64;
/** Attempts: another organization may take a slug between the check and the insertion, under a different name with the same candidate. */
const TRIES = 10;

// Requests for the same name are serialized, since each would otherwise wait for the previous one at every candidate.
const QUEUE = `SELECT pg_advisory_xact_lock(hashtextextended('slug:' || $1, 0))`;
const FREE = `
SELECT slug FROM unnest(ARRAY(SELECT json_array_elements_text($1::json))) WITH ORDINALITY AS candidate (slug, place)
WHERE NOT EXISTS (SELECT FROM organizations o WHERE o.slug = candidate.slug) ORDER BY place LIMIT 1`;

const TAKEN = 'SELECT slug FROM organizations WHERE slug IN (SELECT json_array_elements_text($1::json)) ORDER BY slug';

interface On {
	ordinary: Sequelize;
	transaction: Transaction | null;
}

/** @param insert null when the slug was taken meanwhile. @throws conflict when no candidate is free */
export async function withSlug<T>(
	{ ordinary, transaction }: On,
	slugs: Iterable<string>,
	insert: (slug: string) => Promise<T | null>,
): Promise<T> {
	const candidates = first(slugs);
	await rows(ordinary, QUEUE, [candidates[0] ?? ''], transaction);
	for (let tries = 0; tries < TRIES; tries++) {
		const slug = await findFreeSlug({ ordinary, transaction }, candidates);
		const made = slug === null ? null : await insert(slug);
		if (made) return made;
	}
	throw new GatewayError('conflict', 'The name yields no free slug: choose another name.');
}

/** Finds the first free slug; null when all are taken. */
export async function findFreeSlug({ ordinary, transaction }: On, slugs: Iterable<string>): Promise<string | null> {
	const [free] = await rows<{ slug: string }>(ordinary, FREE, [JSON.stringify(first(slugs))], transaction);
	return free?.slug ?? null;
}

function first(slugs: Iterable<string>): string[] {
	const candidates: string[] = [];
	for (const slug of slugs) {
		candidates.push(slug);
		if (candidates.length === BATCH) break;
	}
	return candidates;
}

/** Finds those that organizations have. */
export const findTakenSlugs = async (ordinary: Sequelize, slugs: readonly string[]): Promise<string[]> =>
	(await rows<{ slug: string }>(ordinary, TAKEN, [JSON.stringify(slugs)])).map(({ slug }) => slug);
