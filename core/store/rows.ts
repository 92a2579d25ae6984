// The fields that all kinds of rows share, and the parameters of lists.

export interface Page {
	/** 1–100. */
	limit: number;
	/** A field of the list, with `-` before it for descending order; in order of creation when absent. A cursor belongs to one sort. */
	sort?: string;
	/** The `nextCursor` of a former answer. @throws validation_failed when it is anything else */
	cursor?: string;
}

/** A page of a list; `nextCursor` is null on the last one. */
export interface Listed<T> {
	items: T[];
	nextCursor: string | null;
}

/** A row that users edit. Every update increments `version`. */
export interface Versioned extends Row {
	version: number;
}

export interface Row {
	id: string;
	organizationId: string;
	createdAt: Date;
	updatedAt: Date;
}

type Nullable<R> = { [K in keyof R]: null extends R[K] ? K : never }[keyof R];

/**
 * A row before it is stored: nullable fields may be left out. @typeParam Own fields that only the store sets, besides those of every row
 */
export type Fresh<R extends Versioned, Own extends keyof R = never> = Omit<R, keyof Versioned | Nullable<R> | Own> &
	Partial<Pick<R, Exclude<Nullable<R>, Own>>>;

/** Fields that users edit. @typeParam Fixed fields that never change */
export type Edit<R extends Versioned, Fixed extends keyof R = never> = Partial<Omit<R, keyof Versioned | Fixed>>;

/** The number of rows removed along, by kind. */
export type Removed = Record<string, number>;

/** `q`: words that the name or the description must all contain, ignoring case. */
export interface TextFilter {
	q?: string;
}
