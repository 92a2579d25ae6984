// Counts the stored rows that no plugin can use: their plugin is not loaded, or their config no longer fits it. The log tells the operator
// of all of them once, after the start; each organization is told of its own.

import { setTimeout as sleep } from 'node:timers/promises';
import { asGatewayError } from '../contract/errors.ts';
import type { Kind } from '../contract/kinds.ts';
import type { Log } from '../contract/nouns.ts';
import { TimeSlice } from '../kit/time-slice.ts';
import type { Secrets } from '../secrets/envelopes.ts';
import type { ConfigRow, ConfigTable, Store } from '../store/store.ts';
import type { Registry } from './registry.ts';
import { loadConfig, UnfitConfig } from './stored-configs.ts';

/** The rows of one plugin that cannot be used. */
export interface UnfitCount {
	kind: Kind;
	name: string;
	/** Rows whose plugin is not loaded. */
	missing: number;
	/** Rows whose config does not fit. */
	misfits: number;
}

export interface UnfitRows {
	/** Returns the counts of one organization, as far as the rows have been read; rows that were mended since are left out. */
	of(organizationId: string): Promise<UnfitCount[]>;
	close(): void;
}

interface Parts {
	store: Pick<Store, 'configs' | 'changes'>;
	registry: Registry;
	secrets: Secrets;
	log: Log;
	/** Whether the log tells of them: one process of a machine does. */
	isTold: boolean;
}

const KINDS: Readonly<Record<ConfigTable, Kind>> = {
	gateways: 'transport',
	gateway_auth: 'auth',
	tools: 'executor',
	apis: 'importer',
	llm_providers: 'provider',
};
const PAGE = 100;
const RETRY_MS = 2000;
/** Rows whose ids are kept; further ones are only counted in the log. */
const MAX_KEPT = 10_000;

type Fault = 'missing' | 'misfits';
type UnfitByRow = Map<string, { kind: Kind; name: string; fault: Fault }>;

/** Reads the rows in the background, page by page. @returns at once */
export function countUnfitRows(parts: Parts): UnfitRows {
	const byOrganization = new Map<string, UnfitByRow>();
	const changed = new Set<string>();
	const closing = new AbortController();
	const unsubscribe = parts.store.changes.subscribe((topics) => {
		if (topics.includes('*')) for (const id of byOrganization.keys()) changed.add(id);
		for (const topic of topics) if (topic.startsWith('org:') && byOrganization.has(topic.slice(4))) changed.add(topic.slice(4));
	});
	void readAll(parts, byOrganization, closing.signal).catch((error: unknown) => {
		if (!closing.signal.aborted) parts.log.warn({ error: String(error) }, 'stored configs could not be checked');
	});
	return {
		async of(organizationId) {
			const known = byOrganization.get(organizationId);
			if (!known) return [];
			if (changed.delete(organizationId)) await refresh(parts, organizationId, known);
			return countsOf(known);
		},
		close() {
			closing.abort();
			unsubscribe();
		},
	};
}

async function readAll(parts: Parts, byOrganization: Map<string, UnfitByRow>, signal: AbortSignal): Promise<void> {
	const totals = new Map<string, { kind: Kind; name: string; fault: Fault; rows: number; first: string | null }>();
	const slice = new TimeSlice();
	let kept = 0;
	let after: Parameters<Store['configs']['page']>[0] = null;
	do {
		const { rows, next } = await readPage(parts.store, after, signal);
		for (const row of rows) {
			if (slice.isOverNow) await slice.next();
			if (signal.aborted) return;
			const found = faultOf(row, parts);
			if (!found) continue;
			const { kind, name, fault, first } = found;
			const total = totals.get(`${fault}:${kind}:${name}`) ?? { kind, name, fault, rows: 0, first };
			total.rows += 1;
			totals.set(`${fault}:${kind}:${name}`, total);
			if (kept++ < MAX_KEPT) keep(byOrganization, row, { kind, name, fault });
		}
		after = next;
	} while (after !== null);
	for (const { kind, name, fault, rows, first } of parts.isTold ? totals.values() : []) {
		const plugin = `${kind}:${name}`;
		if (fault === 'missing') parts.log.warn({ plugin, rows }, 'stored rows belong to a plugin that is not loaded');
		else parts.log.warn({ plugin, rows, first }, 'stored configs no longer fit their plugin');
	}
}

/** Reads a page, and tries again for as long as the database is away. @throws AbortError when the signal fires */
async function readPage(store: Parts['store'], after: Parameters<Store['configs']['page']>[0], signal: AbortSignal) {
	for (;;) {
		try {
			return await store.configs.page(after, PAGE);
		} catch (error) {
			if (asGatewayError(error)?.code !== 'unavailable') throw error;
			await sleep(RETRY_MS, undefined, { signal, ref: false });
		}
	}
}

function keep(
	byOrganization: Map<string, UnfitByRow>,
	{ organizationId, id }: ConfigRow,
	found: { kind: Kind; name: string; fault: Fault },
): void {
	const known = byOrganization.get(organizationId) ?? new Map();
	known.set(id, found);
	byOrganization.set(organizationId, known);
}

/** Reads the rows again that could not be used, after a change of their organization. */
async function refresh(parts: Parts, organizationId: string, known: UnfitByRow): Promise<void> {
	const rows = await parts.store.configs.find(organizationId, [...known.keys()]);
	const left = new Map(rows.map((row) => [row.id, faultOf(row, parts)]));
	for (const id of known.keys()) {
		const found = left.get(id);
		if (found) known.set(id, found);
		else known.delete(id);
	}
}

function faultOf(row: ConfigRow, { registry, secrets }: Parts): { kind: Kind; name: string; fault: Fault; first: string | null } | null {
	const { table, id, organizationId, name, config, version } = row;
	const kind = KINDS[table];
	if (registry.get(kind, name) === null) return { kind, name, fault: 'missing', first: null };
	// The options of an import are given with each import.
	if (kind === 'importer') return null;
	try {
		loadConfig(registry, { kind, name, config, version }, secrets, { organizationId, table, row: id, of: '' });
		return null;
	} catch (thrown) {
		// A secret that cannot be read is told where it is used.
		return thrown instanceof UnfitConfig ? { kind, name, fault: 'misfits', first: thrown.fault } : null;
	}
}

function countsOf(known: UnfitByRow): UnfitCount[] {
	const counts = new Map<string, UnfitCount>();
	for (const { kind, name, fault } of known.values()) {
		const count = counts.get(`${kind}:${name}`) ?? { kind, name, missing: 0, misfits: 0 };
		count[fault] += 1;
		counts.set(`${kind}:${name}`, count);
	}
	return [...counts.values()];
}
