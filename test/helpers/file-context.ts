// A context for servers that all tests of a file use: hooks have none of their own where files share a process.

import { after, type TestContext } from 'node:test';

/** Returns a context of which only `after` works: it is for the end of the file, at whose top level this is called. */
export function fileContext(): TestContext {
	const ends: (() => unknown)[] = [];
	after(async () => {
		for (const end of ends.toReversed()) await end();
	});
	// The servers of tests use nothing else of it.
	return { after: (end: () => unknown) => void ends.push(end) } as TestContext;
}
