// Finds the importer of a document, and the root among several files.

import { GatewayError, invalid } from '../contract/errors.ts';
import type { SchemaImporter } from '../contract/kinds.ts';
import type { SchemaSource } from '../contract/nouns.ts';
import { pointerToken } from '../kit/json-pointer.ts';
import { packageFolderOf } from '../registry/packages.ts';
import { shareModulesWith } from '../registry/shared-modules.ts';
import { checkCertainty } from './check-importer.ts';
import type { Files } from './files.ts';

/** The importer of the API's type, and the names of all others. */
export interface Importers {
	own: SchemaImporter;
	names: string[];
	load(name: string): Promise<SchemaImporter>;
}

/** An importer this certain about its format is not compared with the others. */
const CERTAIN = 0.9;
const MAX_NAMED = 10;

export async function loadImporter(name: string, sources: Record<string, string>): Promise<SchemaImporter> {
	const source = sources[name];
	if (source === undefined) throw invalid('/type', `No importer reads APIs of type ${name}.`);
	// Hooks of the service's process do not count in this one.
	if (source.startsWith('file:')) shareModulesWith(packageFolderOf(source));
	const { default: exported } = (await import(source)) as { default: SchemaImporter | SchemaImporter[] };
	// A package may export several plugins.
	const importer = [exported].flat().find((plugin) => plugin.kind === 'importer' && plugin.name === name);
	if (!importer) throw new Error(`${source} exports no importer of the name ${name}.`);
	return importer;
}

interface DocumentPlace {
	/** JSON pointer into the body. */
	at: string;
	/** The path of the document when it is one of several files. */
	path?: string | null;
	/** The text of the document without a byte order mark, if it was decoded. */
	text?: string;
}

/** Decodes UTF-8; null when the bytes are not valid. */
export function decode(bytes: Uint8Array): string | null {
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	} catch {
		// A `fatal` decoder reports invalid bytes only by throwing.
		return null;
	}
}

/** @param text of the bytes, if it is known. @throws PluginFault when the importer gives no certainty */
export const sureOf = (importer: SchemaImporter, bytes: Uint8Array, text = decode(bytes) ?? ''): number =>
	checkCertainty(importer.name, importer.detect(text, bytes));

/** Asks an importer that the import does not need: one that is broken claims nothing, and does not fail the imports of others. */
async function claimOf(name: string, load: Importers['load'], bytes: Uint8Array, text: string): Promise<number> {
	try {
		return sureOf(await load(name), bytes, text);
	} catch {
		return 0;
	}
}

/**
 * @param place of the document in the body, and its path when it is one of several. @throws schema_invalid when another importer is more
 * certain of it
 */
export async function refuseOthers(
	{ own, names, load }: Importers,
	bytes: Uint8Array,
	{ at, path = null, text = decode(bytes) ?? '' }: DocumentPlace,
): Promise<void> {
	let best = { name: own.name, score: sureOf(own, bytes, text) };
	if (best.score >= CERTAIN) return;
	for (const name of names.filter((other) => other !== own.name)) {
		const score = await claimOf(name, load, bytes, text);
		if (score > best.score) best = { name, score };
	}
	if (best.name === own.name) return;
	const document = path === null ? 'The document' : `The file ${path}`;
	throw refused(
		at,
		`${document} looks like ${best.name}, but this API is of type ${own.name}: connect an API of type ${best.name} for it.`,
	);
}

interface Choice {
	url: string | null;
	/** The root file that the user named. */
	entry: string | null;
	/** JSON pointer of the field that holds the files. */
	at: string;
	/** Whether the field lists the files by path. */
	isListed: boolean;
}

/** Returns the files with their root. @throws validation_failed, schema_invalid naming the candidates */
export async function findRoot(files: Files, importers: Importers, { url, entry, at, isListed }: Choice): Promise<SchemaSource> {
	const { own } = importers;
	const placeOf = (path: string): DocumentPlace => ({ at: isListed ? `${at}/${pointerToken(path)}` : at, path });
	const path = entry ?? (own.rootless ? null : certainRoot(files, own));
	if (path !== null) {
		const bytes = files.get(path);
		if (!bytes) throw refused('/entry', `"entry" must be one of the files: ${listed([...files.keys()])}.`);
		const place = placeOf(path);
		await refuseOthers(importers, bytes, place);
		const text = decode(bytes);
		if (text === null && own.detect('', bytes) === 0) throw refused(place.at, `The file ${path} is not UTF-8 text.`);
		return { text: text ?? '', url, path, files };
	}
	const known = [...files].some(([, bytes]) => sureOf(own, bytes) > 0);
	if (own.rootless && known) return { text: '', url, path: null, files };
	for (const [each, bytes] of files) await refuseOthers(importers, bytes, placeOf(each));
	throw refused(at, `None of the files looks like ${own.name}: ${listed([...files.keys()])}. Name one as "entry" if it is.`);
}

/** Finds the file that the importer is certain of; null when there is none. @throws schema_invalid when there are several */
function certainRoot(files: Files, own: SchemaImporter): string | null {
	const [only, another] = files.keys();
	if (only !== undefined && another === undefined) return only;
	const certain = [...files].filter(([, bytes]) => sureOf(own, bytes) >= CERTAIN).map(([path]) => path);
	if (certain.length > 1) throw refused('/entry', `Several of the files could be the root. Name one as "entry": ${listed(certain)}.`);
	return certain[0] ?? null;
}

function listed(paths: string[]): string {
	const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
	return paths.slice(0, MAX_NAMED).join(', ') + more;
}

const refused = (path: string, message: string): GatewayError =>
	new GatewayError('schema_invalid', message, { details: [{ path, message }] });
