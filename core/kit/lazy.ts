// Modules that are loaded when they are first needed: most services use few of the protocols and formats that there are.

/**
 * Loads once, for all who ask; again after it failed. (`import()` alone takes 28 µs also of what is there.)
 * @returns what resolves at once when it is loaded
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
