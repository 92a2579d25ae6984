// Names for the ids in sums and lines.

import type { Core } from '../../../core/features.ts';

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the name of a value that is an id, or ends with one as the name of a caller does; null when it has none. */
export type NameOf = (value: string | null) => string | null;

export async function namesOf(values: readonly (string | null)[], organizationId: string, { store }: Core): Promise<NameOf> {
	const idOf = (value: string | null): string | undefined => ID.exec(value ?? '')?.[0];
	const ids = new Set(values.map(idOf).filter((id) => id !== undefined));
	const names = await store.analytics.names(organizationId, [...ids]);
	return (value) => names.get(idOf(value) ?? '') ?? null;
}
