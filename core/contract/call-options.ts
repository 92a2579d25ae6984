// The options of `Call.with`. Types only.

import type { Asker } from './asking.ts';
import type { ResultLink } from './results.ts';

export interface CallOptions {
	progress?: ProgressListener;
	signal?: AbortSignal;
	detached?: boolean;
	ask?: Asker;
	keep?: ResultLink;
	counted?: boolean;
	strictOutput?: boolean;
}

export type ProgressListener = (done: number, total?: number, message?: string) => void;
