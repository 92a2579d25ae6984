// Parameters of a request: each at most once, and an empty one is none (RFC 6749 §3.1).

import { OAuthFault, printable } from './faults.ts';

/** Of those that a request may name more than once there is one: `resource` (RFC 8707 §2). */
const REPEATABLE = new Set(['resource']);
const FORM = 'application/x-www-form-urlencoded';

export class Parameters {
	readonly #values: URLSearchParams;

	constructor(values: URLSearchParams) {
		this.#values = values;
	}

	get(name: string): string | null {
		return this.#values.get(name) || null;
	}

	all(name: string): string[] {
		return this.#values.getAll(name).filter((value) => value !== '');
	}

	/** @throws invalid_request */
	require(name: string): string {
		const value = this.get(name);
		if (value === null) throw new OAuthFault('invalid_request', `${name} is required`);
		return value;
	}

	isRepeated(name: string): boolean {
		return this.#values.getAll(name).length > 1;
	}

	/** The first that comes twice: "Request and response parameters MUST NOT be included more than once." */
	get repeated(): string | null {
		const seen = new Set<string>();
		for (const name of this.#values.keys()) {
			if (seen.has(name) && !REPEATABLE.has(name)) return name;
			seen.add(name);
		}
		return null;
	}

	/** @throws invalid_request */
	assertOnce(): void {
		const { repeated } = this;
		if (repeated !== null) throw new OAuthFault('invalid_request', `${printable(repeated)} must not be given more than once`);
	}
}

/** Of a body. @throws invalid_request */
export function formParameters(body: unknown, contentType: string | undefined): Parameters {
	if (mediaType(contentType) !== FORM) throw new OAuthFault('invalid_request', `Content-Type must be ${FORM}`);
	const parameters = new Parameters(new URLSearchParams(Buffer.isBuffer(body) ? body.toString('utf8') : ''));
	parameters.assertOnce();
	return parameters;
}

export const mediaType = (contentType: string | undefined): string => contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
