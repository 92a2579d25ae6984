// Messages between the main thread and a checking thread: one task at a time, with one answer each.

import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';
import type { JsonSchema } from '../contract/nouns.ts';
import type { Reading } from './compile.ts';

/** Data that a thread gets at its start. */
export interface ThreadData {
	/** Folder of the compile cache; null if the service has none. */
	compileCache: string | null;
	/** The tasks that it gets. */
	does: 'checks' | 'redactions';
}

export type CheckTask =
	/** Checks whether the schema is usable. */
	| { type: 'admit'; schema: JsonSchema }
	/** `schema` is null when the thread may have it cached by its key. `args` are JSON text. */
	| { type: 'check'; key: string; schema: SchemaSource | null; reading: Reading; args: string }
	/** Checks the data of a result, as JSON text, against its output schema. */
	| { type: 'output'; key: string; schema: { schema: JsonSchema } | null; data: string }
	/** Hides what the patterns find in JSON texts, of which no more than `maxChars` are needed. */
	| { type: 'redact'; texts: readonly string[]; patterns: readonly string[]; maxChars: number };

export type SchemaSource = { schema: JsonSchema } | SchemaText;

/** A schema as text, which the main thread need not parse. */
export interface SchemaText {
	text: string;
	/** The argument whose members are moved beside the others; null if there is none. */
	flat: string | null;
	/** Arguments to remove from the schema. */
	without: readonly string[];
}

export type CheckAnswer =
	| { type: 'admitted' }
	/** `args` are JSON text, null if they are unchanged. */
	| { type: 'checked'; faults: ErrorDetail[]; args: string | null }
	| { type: 'redacted'; texts: string[] }
	/** The thread does not have the key cached: the task is repeated with the schema. */
	| { type: 'unknown' }
	| { type: 'refused'; code: ErrorCode; message: string; details: ErrorDetail[] }
	| { type: 'crashed'; stack: string };

/** `compiled`: the schema that came with a check is compiled; the check itself begins. */
export type FromThread = { type: 'ready' } | { type: 'compiled' } | CheckAnswer;
