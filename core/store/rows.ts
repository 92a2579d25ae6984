// What rows of every kind have in common, and how lists of them are asked for.

export interface Page {
	/** 1–100. */
	limit: number;
	/** A field of the list, `-` before it for the other way round; in order of creation when absent. A cursor belongs to one sort. */
	sort?: string;
	/** As a former answer's `nextCursor` gave it. @throws validation_failed when it was not */
	cursor?: string;
}

/** `nextCursor` is null on the last page. */
export interface Listed<T> {
	items: T[];
	nextCursor: string | null;
}

/** A row that users edit. `version` grows with every update of it. */
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

/** A row before the store makes it: what may be null may be left out. @typeParam Own what nobody but the store gives it, beside what it gives every row */
export type Fresh<R extends Versioned, Own extends keyof R = never> = Omit<R, keyof Versioned | Nullable<R> | Own> &
	Partial<Pick<R, Exclude<Nullable<R>, Own>>>;

/** Fields that users edit. @typeParam Fixed those that stay as they are */
export type Edit<R extends Versioned, Fixed extends keyof R = never> = Partial<Omit<R, keyof Versioned | Fixed>>;

/** What a removal took with it, by kind of row. */
export type Removed = Record<string, number>;

/** `q`: words that the name or the description holds, without regard to case; all of them. */
export interface TextFilter {
	q?: string;
}
