// The places of a config: its schema as far as it matters for secrets and their destinations.

import type { Json } from '../contract/nouns.ts';

/** Decides which members of a map are secret: `.meta({ secretMembers })`. A value that is no text is given as JSON. */
export type SecretMembers = (name: string, value: string) => boolean;

/** A schema as it matters for marks; the places of one position's alternatives, conditions and links are its `options`. */
export interface SecretPlace {
	type: string;
	/** The values that the schema allows by name; null when one of them cannot be known, such as a reference. */
	literals: readonly Json[] | null;
	/** Whether no other value than the literals is allowed. */
	isOnly: boolean;
	isRequired: boolean;
	isSecret: boolean;
	isDestination: boolean;
	secretMembers: SecretMembers | null;
	keys: ReadonlyMap<string, SecretPlace>;
	/** Fields that are accepted under another name too, and stored under it. */
	renames: readonly { from: RegExp | string; to: string }[];
	patterns: readonly { name: RegExp | null; place: SecretPlace }[];
	/** The place of a list's items; null if nothing is said of them. */
	item: SecretPlace | null;
	/** The places of a list's first items. */
	ordered: readonly SecretPlace[];
	/** Whether one item may stand for a list of one. */
	isSingle: boolean;
	/** The schemas of which any may apply to the value as well. */
	options: readonly Option[];
	/** Whether a secret is marked here or below. */
	hasSecret: boolean;
	hasDestination: boolean;
}

/** A further schema of the same position. `when` tells when it applies; null for an alternative, which applies if the value could match. */
export interface Option {
	when: Condition | null;
	place: SecretPlace;
}

export interface Condition {
	/** The value that is tested; null for the value itself. */
	ref: { path: readonly string[]; ancestor: number | 'root' } | null;
	/** The values that meet the condition; `any` for every present one; null when that cannot be told without the schema. */
	is: readonly Json[] | 'any' | null;
	/** Whether the option applies when the condition is met, or when it is not. */
	isMet: boolean;
}

/** A place without marks. */
export const emptyPlace = (type: string): SecretPlace => ({
	...{ type, literals: [], isOnly: false, isRequired: false, isSingle: false },
	...{ isSecret: false, isDestination: false, secretMembers: null, keys: new Map(), renames: [], patterns: [] },
	...{ item: null, ordered: [], options: [], hasSecret: false, hasDestination: false },
});
