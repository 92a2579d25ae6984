// The compile cache of the service, for its threads and the processes of imports: their environment does not name it.

import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/** Returns the folder that they pass to `enableCompileCache`; null when the service has no cache, so that each of them compiles anew. */
export function compileCacheFolder(): string | null {
	// Node names the subfolder of its own release; its parent is the configured folder.
	const folder = getCompileCacheDir();
	return folder === undefined ? null : dirname(folder);
}
