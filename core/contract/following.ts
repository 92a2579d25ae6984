// News for a call, from every replica: that another request ends its work, and the versions of what is served. Types only.

/**
 * Work of requests by names that their clients chose, so that another request of the same caller can end it. A name belongs to the plugin at
 * the gateway (or organization) and to the caller with the same credential: nobody else can end it. Callers without a name of their own are one
 * caller, so a name of theirs must hold something that cannot be guessed, such as the id of a session.
 */
export interface NamedWork {
	/** Begins work under a name; `finish` must follow. Its signal aborts when the name is ended, also when that came up to ten seconds before. */
	begin(name: string): BegunWork;
	/** Ends what was begun under the name on every replica, within a tenth of a second. It tells nobody whether there was anything. */
	end(name: string): void;
}

export interface BegunWork {
	readonly signal: AbortSignal;
	finish(): void;
}

/**
 * Versions of what a gateway serves, by its parts: opaque texts of at most 32 characters, the same on every replica. Another version means that
 * the part may have changed.
 */
export interface ServedVersions {
	/** The list of tools, with their names, descriptions and schemas. */
	readonly tools: string;
	/** The skills that are assigned, with their files. */
	readonly skills: string;
	/** The configuration of the gateway and of its transport. */
	readonly settings: string;
	/** Returns the version of one tool; null where none has this name. */
	ofTool(name: string): string | null;
	/** Returns the version of a file of a skill, which only its content changes; null where there is none. */
	ofSkillFile(skillName: string, path: string): string | null;
}
