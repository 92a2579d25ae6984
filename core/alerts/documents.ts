// Says how the documents of watched APIs differ from what was imported.

import { createHash } from 'node:crypto';
import type { JsonObject } from '../contract/nouns.ts';
import type { Imports } from '../imports/imports.ts';
import type { ApiRow, ImportChanges, Store } from '../store/store.ts';

/** The most operations that a message names. */
const NAMED = 100;

export interface Difference {
	/** Tells one difference from another. */
	digest: string;
	found: JsonObject;
}

interface DocumentParts {
	store: Pick<Store, 'apis' | 'tools'>;
	imports: Pick<Imports, 'compare'>;
}

/** Returns how the document differs from what was imported; null when it does not, or was not fetched. @throws as `compare` of imports */
export async function differenceOf(api: ApiRow, signal: AbortSignal, { store, imports }: DocumentParts): Promise<Difference | null> {
	const changes = await imports.compare(store, api, signal);
	if (!changes) return null;
	const { added, removed, changed, restored, breaking } = changes;
	if (added + removed + changed + restored === 0) return null;
	const digest = createHash('sha256')
		.update(JSON.stringify(contentOf(changes)))
		.digest('base64url');
	const operations = changes.operations.slice(0, NAMED).map(({ name, change, kind, reasons }) => ({ name, change, kind, reasons }));
	return { digest, found: { changes: { added, removed, changed, restored, breaking, operations } } };
}

const contentOf = ({ added, removed, changed, restored, operations }: ImportChanges): object => ({
	...{ added, removed, changed, restored },
	operations: operations.map(({ key, change, kind, reasons }) => [key, change, kind, reasons]),
});
