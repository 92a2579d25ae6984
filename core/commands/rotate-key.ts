// The command `rotate-key`: seals anew what a former ENCRYPTION_KEY sealed, so that the former key can be given up.

import type { Secrets } from '../secrets/envelopes.ts';
import { type Renewed, renewedValue } from '../secrets/renewal.ts';
import type { ChangeSealed } from '../store/credentials.ts';

type Counts = Omit<Renewed, 'value'>;

/** Counts by table what `change` does to the values that it is given. */
export function renewal(secrets: Secrets): { change: ChangeSealed; counts: ReadonlyMap<string, Counts> } {
	const counts = new Map<string, Counts>();
	const change: ChangeSealed = (stored) => {
		const { value, renewed, unreadable } = renewedValue(secrets, stored);
		const done = (): void => {
			const before = counts.get(stored.table) ?? { renewed: 0, unreadable: 0 };
			counts.set(stored.table, { renewed: before.renewed + renewed, unreadable: before.unreadable + unreadable });
		};
		return { anew: value, done };
	};
	return { change, counts };
}

/** Says in a line what was done in each table. */
export function describeRenewal(counts: ReadonlyMap<string, Counts>): string {
	if (counts.size === 0) return 'Nothing is left that another key sealed.\n';
	const lines = [...counts].map(
		([table, { renewed, unreadable }]) => `${table}: ${renewed} sealed anew${unreadable > 0 ? `, ${unreadable} that no key opens` : ''}\n`,
	);
	return lines.join('');
}
