// Loads modules when they are first needed: most services use few of the available protocols and formats.

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
