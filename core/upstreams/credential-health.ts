// Whether the stored credentials of APIs work, as far as the calls of this process tell.

import type { Api } from '../contract/nouns.ts';
import { BoundedMap } from '../kit/bounded-map.ts';

/** Refusals in a row: a single one may be about what was asked for. */
const REFUSALS = 3;
const CAPACITY = 10_000;

type OfApi = Pick<Api, 'id' | 'organizationId'>;

export class CredentialHealth {
	/** Refusals in a row, by API; an API whose credential works takes no memory. */
	readonly #refusals = new BoundedMap<string, number>(CAPACITY);
	/** APIs whose credential was told not to work, by any replica. */
	#broken = new Set<string>();
	#changed: (api: OfApi, works: boolean) => void = () => undefined;

	/** Has somebody told of each change. */
	tell(changed: (api: OfApi, works: boolean) => void): void {
		this.#changed = changed;
	}

	/** Learns which credentials were told not to work. The refusals of one of which that is no longer said may be those of another one. */
	know(broken: readonly OfApi[]): void {
		const told = new Set(broken.map(({ id }) => id));
		for (const id of this.#broken) if (!told.has(id)) this.#refusals.delete(id);
		this.#broken = told;
	}

	/** Learns of an answer to a request with stored credentials. */
	answered(api: OfApi, status: number): void {
		if (status === 401) return void this.#count(api, 1);
		this.#refusals.delete(api.id);
		if (status < 400 && this.#broken.delete(api.id)) this.#changed(api, true);
	}

	/** Learns that a token server has refused the credential. */
	refused(api: OfApi): void {
		this.#count(api, REFUSALS);
	}

	#count(api: OfApi, refusals: number): void {
		const count = (this.#refusals.get(api.id) ?? 0) + refusals;
		this.#refusals.set(api.id, count);
		if (count < REFUSALS || this.#broken.has(api.id)) return;
		this.#broken.add(api.id);
		this.#changed(api, false);
	}
}
