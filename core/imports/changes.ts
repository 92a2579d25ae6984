// The changes that an import made to the operations, gathered while it is committed: all are counted, and as many listed as somebody may
// read.

import { setImmediate } from 'node:timers/promises';
import type { SchemaImporter } from '../contract/kinds.ts';
import { cleanText } from '../kit/clean-text.ts';
import type { ImportReader, OperationChange, OperationContent } from '../store/store.ts';
import { checkNormalized } from './check-importer.ts';
import { compareOperations } from './compare/operations.ts';

const MAX_LISTED = 2_000;
const MAX_LISTED_CHARS = 512 * 1024;
const MAX_CHARS = 300;
/** The comparison yields to the event loop after so long. */
const TURN_MS = 8;

/** The order of the list: breaking changes are not cut off behind mere rewordings. */
const RANKS = ['removed', 'breaking', 'restored', 'additive', 'text', 'added'] as const;
type Rank = (typeof RANKS)[number];

/** @param importer tells what of two definitions means the same; null: none does */
export function createImportReader(
	draft: ImportReader['draft'],
	importer: Pick<SchemaImporter, 'name' | 'messageTypes' | 'normalize'> | null = null,
): ImportReader {
	const counts = { restored: 0, changed: 0, breaking: 0, additive: 0, text: 0 };
	const listed: Record<Rank, OperationChange[]> = { removed: [], breaking: [], restored: [], additive: [], text: [], added: [] };
	let turnEndsAt = performance.now() + TURN_MS;

	const list = (rank: Rank, { key, name, reasons, ...rest }: OperationChange): void => {
		if (listed[rank].length < MAX_LISTED)
			listed[rank].push({ key: bounded(key), name: bounded(name), ...rest, reasons: reasons.map(bounded) });
	};
	const takeTurns = async (): Promise<void> => {
		if (performance.now() < turnEndsAt) return;
		await setImmediate();
		turnEndsAt = performance.now() + TURN_MS;
	};

	const normalized = (content: OperationContent): OperationContent =>
		importer?.normalize ? { ...content, definition: checkNormalized(importer.name, importer.normalize(content.definition)) } : content;

	return {
		draft,
		moved(change, { key, name }) {
			const kind = change === 'removed' ? 'breaking' : null;
			list(change, { key, name, change, kind, reasons: [] });
		},
		async differs({ key, name, isRestored, before, after }) {
			const { kind, reasons } = await compareOperations(normalized(before), normalized(after), takeTurns, importer?.messageTypes ?? []);
			if (kind !== null) counts[kind]++;
			if (isRestored) counts.restored++;
			else if (kind !== null) counts.changed++;
			// The operation is written differently, and means the same.
			if (kind === null && !isRestored) return;
			const rank = isRestored && kind !== 'breaking' ? 'restored' : (kind ?? 'restored');
			list(rank, { key, name, change: isRestored ? 'restored' : 'changed', kind, reasons });
		},
		finish({ operations: total, added, removed, isFirst, toolsUpdated }) {
			const unchanged = total - added - counts.restored - counts.changed;
			const operations = withinBounds(RANKS.flatMap((rank) => listed[rank]));
			const news = isFirst ? 0 : added + removed + counts.restored + counts.changed;
			const breaking = counts.breaking + removed;
			return { added, removed, ...counts, breaking, unchanged, toolsUpdated, operations, unlisted: news - operations.length };
		},
	};
}

function withinBounds(changes: OperationChange[]): OperationChange[] {
	let chars = 0;
	const end = changes.findIndex(({ key, name, reasons }, index) => {
		chars += key.length + name.length + reasons.join().length;
		return index >= MAX_LISTED || chars > MAX_LISTED_CHARS;
	});
	return end < 0 ? changes : changes.slice(0, end);
}

const bounded = (text: string): string => cleanText(text, MAX_CHARS);
