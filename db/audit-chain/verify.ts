// Checks the chains of the audit log, a thousand links at a time.

import type { Sequelize } from 'sequelize';
import { type AuditHead, type AuditProof, linkHash } from '../../core/store/audit-chain.ts';
import { ENTRY, type FoundEntry, toEntry } from '../audit.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';

const READ = 1000;

const ORGANIZATIONS = `
SELECT id, slug FROM organizations WHERE id > $1 AND ($2::uuid IS NULL OR id = $2) ORDER BY id LIMIT ${READ}`;
const LINKS = `
SELECT c.position::float8, c.entry_id AS "entryId", encode(c.hash, 'hex') AS hash, a.organization_id AS "organizationId", ${ENTRY}
FROM audit_chain c LEFT JOIN audit_log a ON a.id = c.entry_id WHERE c.organization_id = $1 AND c.position > $2 ORDER BY c.position LIMIT ${READ}`;
const UNCHAINED = `
SELECT count(*)::int AS count, (array_agg(u.entry_id ORDER BY u.seq) FILTER (WHERE a.id IS NULL))[1] AS gone
FROM audit_unchained u LEFT JOIN audit_log a ON a.id = u.entry_id WHERE u.organization_id = $1`;
// One snapshot: an entry that is being linked has one of both.
const STRAY = `
SELECT a.id FROM audit_log a WHERE a.organization_id = $1 AND NOT EXISTS (SELECT FROM audit_chain c WHERE c.entry_id = a.id)
	AND NOT EXISTS (SELECT FROM audit_unchained u WHERE u.entry_id = a.id) LIMIT 1`;

type Linked = { position: number; entryId: string; hash: string; organizationId: string | null } & (FoundEntry | { id: null });

export interface Verifying {
	/** The only organization to check. */
	organizationId?: string;
	/** A link that was noted down before, which must still be there. */
	expected?: AuditHead;
}

/** Checks one organization after the other. */
export async function* verifyChains(sql: Sequelize, { organizationId, expected }: Verifying = {}): AsyncGenerator<AuditProof, void> {
	const only = organizationId === undefined ? null : uuid(organizationId);
	for (let last: string | null = uuid(''); last !== null; ) {
		const found: { id: string; slug: string }[] = await rows(sql, ORGANIZATIONS, [last, only]);
		for (const { id, slug } of found) yield { organizationId: id, slug, ...(await verify(sql, id, expected)) };
		last = found.length === READ ? (found.at(-1)?.id ?? null) : null;
	}
}

type Proof = Omit<AuditProof, 'organizationId' | 'slug'>;

async function verify(sql: Sequelize, organizationId: string, expected: AuditHead | undefined): Promise<Proof> {
	let head: AuditHead | null = null;
	let broken: string | null = null;
	const isMet = (link: AuditHead): boolean => expected?.position === link.position && expected.hash === link.hash;
	let hasExpected = expected === undefined;
	for (let isMore = true; isMore && broken === null; ) {
		const links: Linked[] = await rows(sql, LINKS, [organizationId, head?.position ?? 0]);
		isMore = links.length === READ;
		for (const link of links) {
			broken = faultOf(link, head, organizationId);
			if (broken !== null) break;
			head = { position: link.position, hash: link.hash };
			hasExpected ||= isMet(head);
		}
	}
	const [{ count = 0, gone = null } = {}] = await rows<{ count: number; gone: string | null }>(sql, UNCHAINED, [organizationId]);
	const [stray] = await rows<{ id: string }>(sql, STRAY, [organizationId]);
	let links = head?.position ?? 0;
	if (broken === null && expected && !hasExpected) {
		broken = `link ${expected.position}: it is not the one that is expected`;
		links = Math.min(links, expected.position - 1);
	}
	if (broken === null && gone !== null) broken = `the entry ${gone} was removed before it was linked`;
	if (broken === null && stray) broken = `the entry ${stray.id} was put in without a link`;
	return { links, head, unchained: count, broken };
}

/** Returns what is wrong with a link; null when nothing is. */
function faultOf(link: Linked, before: AuditHead | null, organizationId: string): string | null {
	const { position, entryId, hash, organizationId: owner, ...entry } = link;
	const expected = (before?.position ?? 0) + 1;
	if (position !== expected) return `link ${expected}: it is gone`;
	if (entry.id === null) return `link ${position}: its entry ${entryId} was removed`;
	if (owner !== organizationId) return `link ${position}: its entry ${entryId} was moved to another organization`;
	const isSame = linkHash(before?.hash ?? null, organizationId, position, toEntry(entry)) === hash;
	return isSame ? null : `link ${position}: its entry ${entryId}, or the link itself, was changed`;
}
