// Writes what was read, in the transaction of its import, or only tells what it would change.

import { GatewayError } from '../contract/errors.ts';
import type { ImportChanges, ImportCheck, ImportHold, ImportReader, ImportWriter, KeptSource, WrittenImport } from '../store/store.ts';
import { active, assertFewTools } from './tool-generation.ts';
import type { ImportResult } from './worker-messages.ts';

/** The latest description of an API that this process has imported. */
export interface Known {
	schemaId: string;
	fingerprint: string;
}

/** An import that is not to be written. */
export interface Dry {
	/** The digest of the document that the API has. */
	unchanged: string | null;
	/** Receives the changes; null for the document of that digest. */
	tell(changes: ImportChanges | null): void;
}

interface Committing {
	reader: ImportReader;
	hold: ImportHold | undefined;
	operations: number;
	dry: Dry | undefined;
	source: KeptSource;
	known: Known | null;
}

/** @returns null when the description is the known one, and the API has another one by now: nothing is written */
export async function commit(
	writer: ImportWriter,
	{ report, request, sourceUrl, sizeBytes, sha256 }: ImportResult,
	{ reader, hold, operations, dry, source, known }: Committing,
): Promise<WrittenImport | null> {
	const { generation, allowEmpty } = request;
	const job = hold && { ...hold, operations, generation };
	// The check runs before the commit, so that a 400 leaves the former description in place.
	const check: ImportCheck = async (count, { removed }) => {
		if (dry) throw notWritten();
		if (removed > 0 && !allowEmpty && (await count(active({}))) === 0) throw emptied(removed);
		if (generation) assertFewTools(await count(active(generation)));
	};
	const asked = dry ? told(reader, dry) : reader;
	if (report === null) return writer.repeat({ schemaId: known?.schemaId ?? '', source }, asked, job, check);
	const { format, title, version, servers } = report;
	return writer.commit({ format, title, version, servers, sourceUrl, sizeBytes, sha256, report, source }, asked, job, check);
}

/** The end of an import that is not to be written. */
export const notWritten = (): GatewayError => new GatewayError('conflict', 'Nothing was written.');

/** Returns a reader that tells the changes before they are checked. */
const told = (reader: ImportReader, { tell }: Dry): ImportReader => ({
	...reader,
	finish(counts) {
		const changes = reader.finish(counts);
		tell(changes);
		return changes;
	},
});

/** Refuses a description without operations: an error page that parses as one, or the wrong file, would remove everything. */
const emptied = (removed: number): GatewayError => {
	const message = `The document has no operation that can be called, but the API has ${removed}: nothing was changed. "allowEmpty": true removes them.`;
	return new GatewayError('schema_invalid', message, { details: [{ path: '/allowEmpty', message }] });
};
