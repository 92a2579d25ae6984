// Links the entries of the audit log that have no link yet, in the order of their `seq`; an entry whose change was committed later is linked later.

import { type AuditChain, type AuditHead, linkHash } from '../../core/store/audit-chain.ts';
import type { AuditRow } from '../../core/store/store.ts';
import { ENTRY, type FoundEntry, toEntry } from '../audit.ts';
import type { Database } from '../connection.ts';
import { uuid } from '../pages.ts';
import { rows } from '../rows.ts';

/** An arbitrary number, the same in every release: one replica links at a time. */
const LOCK = 'SELECT pg_try_advisory_xact_lock(7046112029) AS "isMine"';
const BATCH = 500;
/** The most batches of one call. */
const BATCHES = 40;

const UNCHAINED = `
SELECT ${ENTRY}, a.organization_id AS "organizationId" FROM audit_unchained u JOIN audit_log a ON a.id = u.entry_id ORDER BY u.seq LIMIT ${BATCH}`;
const HEADS = `
SELECT o.id AS "organizationId", h.position::float8, encode(h.hash, 'hex') AS hash FROM unnest($1::uuid[]) AS o(id)
CROSS JOIN LATERAL (SELECT position, hash FROM audit_chain c WHERE c.organization_id = o.id ORDER BY c.position DESC LIMIT 1) AS h`;
const LINK = `
INSERT INTO audit_chain (organization_id, position, entry_id, hash)
SELECT o, p, e, decode(h, 'hex') FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[]) AS link(o, p, e, h)`;
const LINKED = 'DELETE FROM audit_unchained WHERE entry_id = ANY($1::uuid[])';

type Pending = AuditRow & { organizationId: string };
type Head = AuditHead & { organizationId: string };

interface Link extends Head {
	entryId: string;
}

export function createAuditChain({ bulk, ordinary, transact }: Database): AuditChain {
	const batch = (): Promise<number> =>
		transact(async (transaction) => {
			const [lock] = await rows<{ isMine: boolean }>(bulk, LOCK, [], transaction);
			if (!lock?.isMine) return 0;
			const found = await rows<FoundEntry & { organizationId: string }>(bulk, UNCHAINED, [], transaction);
			if (found.length === 0) return 0;
			const pending = found.map(({ organizationId, ...row }): Pending => ({ ...toEntry(row), organizationId }));
			const organizations = [...new Set(pending.map(({ organizationId }) => organizationId))];
			const links = linked(pending, await rows<Head>(bulk, HEADS, [organizations], transaction));
			const columns = [
				...[links.map(({ organizationId }) => organizationId), links.map(({ position }) => position)],
				...[links.map(({ entryId }) => entryId), links.map(({ hash }) => hash)],
			];
			await bulk.query(LINK, { bind: columns, transaction });
			await bulk.query(LINKED, { bind: [links.map(({ entryId }) => entryId)], transaction });
			return links.length;
		});
	return {
		async extend() {
			let sum = 0;
			for (let count = 0; count < BATCHES; count++) {
				const made = await batch();
				sum += made;
				if (made < BATCH) break;
			}
			return sum;
		},
		async head(organizationId) {
			const [found] = await rows<Head>(ordinary, HEADS, [[uuid(organizationId)]]);
			return found ? { position: found.position, hash: found.hash } : null;
		},
	};
}

/** Continues the chains of several organizations. */
function linked(pending: readonly Pending[], heads: readonly Head[]): Link[] {
	const last = new Map<string, AuditHead>(heads.map((head) => [head.organizationId, head]));
	return pending.map(({ organizationId, ...entry }) => {
		const before = last.get(organizationId);
		const position = (before?.position ?? 0) + 1;
		const link = { position, hash: linkHash(before?.hash ?? null, organizationId, position, entry) };
		last.set(organizationId, link);
		return { ...link, organizationId, entryId: entry.id };
	});
}
