// Types of semver 7, which ships none, as far as the loader uses it.

declare module 'semver/functions/satisfies.js' {
	/** Returns false also for a text that is no range. */
	export default function satisfies(version: string, range: string, options?: { includePrerelease?: boolean }): boolean;
}
