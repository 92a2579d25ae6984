// The messages between the main thread and a checking thread: one task at a time, one answer each.

import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';
import type { JsonSchema } from '../contract/nouns.ts';
import type { Filling } from './gaps.ts';

/** Given to a thread when it starts. */
export interface ThreadData {
	/** Folder; null where the service has none. */
	compileCache: string | null;
}

export type CheckTask =
	/** Whether the schema can be used. */
	| { type: 'admit'; schema: JsonSchema }
	/** `schema` is null when the thread may know it by its key. `args` are JSON text. */
	| { type: 'check'; key: string; schema: SchemaSource | null; filling: Filling; args: string };

export type SchemaSource = { schema: JsonSchema } | SchemaText;

/** One that the main thread need not read. */
export interface SchemaText {
	text: string;
	/** The argument whose members are to lie beside the others; null: none. */
	flat: string | null;
	/** Arguments that are not to be in it. */
	without: readonly string[];
}

export type CheckAnswer =
	| { type: 'admitted' }
	/** `args` are JSON text, null where they are as they came. */
	| { type: 'checked'; faults: ErrorDetail[]; args: string | null }
	/** The thread does not know the key: to be asked again with the schema. */
	| { type: 'unknown' }
	| { type: 'refused'; code: ErrorCode; message: string; details: ErrorDetail[] }
	| { type: 'crashed'; stack: string };

export type FromThread = { type: 'ready' } | CheckAnswer;
