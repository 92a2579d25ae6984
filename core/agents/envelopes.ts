// Executions at rest: inputs, outputs, traces and answers are encrypted as a whole, bound to the organization and to the tree of runs that they belong to.

import type { Json, JsonObject } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';

/** A value as it is stored. A type alias, since it is stored as JSON. */
export type Sealed = { sealed: string };

export class Envelopes {
	readonly #secrets: Secrets;
	readonly #location: SecretLocation;

	/** @param ref the name that all runs of a tree share: it is in their definitions */
	constructor(secrets: Secrets, organizationId: string, ref: string) {
		this.#secrets = secrets;
		this.#location = { organizationId, table: 'runs', row: `agent ${ref}` };
	}

	seal(value: Json): Sealed {
		return { sealed: this.#secrets.sealJson([value], this.#location) };
	}

	/** Opens what `seal` sealed; null for anything else. @throws secret_unreadable */
	open(value: Json): Json {
		if (!isObject(value) || typeof value['sealed'] !== 'string') return null;
		const [opened = null] = this.#secrets.openJson(value['sealed'], this.#location, 'The data of the execution') as [Json];
		return opened;
	}

	/** Returns a value that is sealed when it is written: what is told often is written seldom. */
	lazily(value: () => Json): JsonObject {
		return { toJSON: () => this.seal(value()) } as unknown as JsonObject;
	}
}
