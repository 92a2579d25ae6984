// The bounds of an organization's model connections and of their sessions.

const DAY_MS = 24 * 60 * 60_000;

export const BOUNDS = {
	/** Connections of an organization. */
	providers: 100,
	/** Sessions of one user at one connection. */
	sessions: 1000,
	/** A session without a turn for so long is removed. */
	sessionMs: 30 * DAY_MS,
	/** The messages of a session that are kept, and their characters together: the oldest turns leave first. */
	messages: 200,
	chars: 200_000,
	/** Characters of one message. */
	message: 100_000,
} as const;
