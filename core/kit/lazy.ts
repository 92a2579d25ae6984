// Loads modules when they are first needed: most services use few of the available protocols and formats.

/**
 * The parts of Node's HTTP that open no connection. An `import` would evaluate all that it exports, among which is a WebSocket client: 85 ms
 * instead of 7 in each process and thread.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');

/**
 * Loads once, for all callers; again after a failure. (`import()` alone takes 28 µs even for a loaded module.)
 * @returns a function whose promise resolves at once when the module is loaded
 */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
	let loaded: Promise<T> | null = null;
	return () => {
		loaded ??= load().catch((error: unknown) => {
			loaded = null;
			throw error;
		});
		return loaded;
	};
}
