// Lines that are alike, so that what they have in common is sent to the database once.

import type { RequestRow } from '../../core/store/store.ts';
import { ALIKE } from './columns.ts';

/** `client` is derived from two others. */
const COMPARED = ['organizationId', ...ALIKE.filter((field) => field !== 'client')] as readonly (keyof RequestRow)[];

export interface Grouped {
	/** One line of each group. */
	groups: readonly RequestRow[];
	lines: readonly { row: RequestRow; group: number }[];
}

export function grouped(rows: readonly RequestRow[]): Grouped {
	const groups: RequestRow[] = [];
	const candidates = new Map<string | null, Map<string | null, number[]>>();
	const groupOf = (row: RequestRow): number => {
		const target = row.toolId ?? row.agentId ?? row.providerId ?? row.gatewayId;
		const byCaller = candidates.get(target) ?? new Map<string | null, number[]>();
		const known = byCaller.get(row.caller) ?? [];
		const found = known.find((at) => areAlike(groups[at] as RequestRow, row));
		if (found !== undefined) return found;
		known.push(groups.push(row) - 1);
		candidates.set(target, byCaller.set(row.caller, known));
		return groups.length - 1;
	};
	return { lines: rows.map((row) => ({ row, group: groupOf(row) })), groups };
}

function areAlike(one: RequestRow, other: RequestRow): boolean {
	for (const field of COMPARED) if ((one[field] ?? null) !== (other[field] ?? null)) return false;
	return true;
}
