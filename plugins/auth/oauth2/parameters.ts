// Reads parameters of a request: each occurs at most once, and an empty one counts as absent (RFC 6749 §3.1).

import { asGatewayError, type Incoming, mediaTypeOf, parseFormBody } from '../../../core/index.ts';
import { OAuthFault, printable } from './faults.ts';

/** The parameters that may occur more than once: `resource` (RFC 8707 §2). */
const REPEATABLE = new Set(['resource']);
const FORM = 'application/x-www-form-urlencoded';
/** Credentials and other parameters that are accepted only in a body. */
const OF_BODY = new Set([
	...['client_id', 'client_secret', 'client_assertion', 'client_assertion_type', 'username', 'password', 'access_token'],
	...['grant_type', 'code', 'code_verifier', 'redirect_uri', 'refresh_token', 'scope', 'resource', 'token', 'token_type_hint'],
	...['client_name', 'redirect_uris', 'token_endpoint_auth_method', 'jwks', 'jwks_uri', 'software_statement'],
]);

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

	/** Returns the value of a parameter. @throws invalid_request when it is absent */
	require(name: string): string {
		const value = this.get(name);
		if (value === null) throw new OAuthFault('invalid_request', `${name} is required`);
		return value;
	}

	isRepeated(name: string): boolean {
		return this.#values.getAll(name).length > 1;
	}

	/** The first parameter that occurs twice: "Request and response parameters MUST NOT be included more than once." */
	get repeated(): string | null {
		const seen = new Set<string>();
		for (const name of this.#values.keys()) {
			if (seen.has(name) && !REPEATABLE.has(name)) return name;
			seen.add(name);
		}
		return null;
	}

	/** Refuses parameters that occur twice. @throws invalid_request */
	assertOnce(): void {
		const { repeated } = this;
		if (repeated !== null) throw new OAuthFault('invalid_request', `${printable(repeated)} must not be given more than once`);
	}
}

/** Reads the parameters of a body. @throws invalid_request */
export function formParameters(body: unknown, contentType: string | undefined): Parameters {
	if (mediaTypeOf(contentType) !== FORM) throw new OAuthFault('invalid_request', `Content-Type must be ${FORM}`);
	const parameters = new Parameters(Buffer.isBuffer(body) ? readForm(body) : new URLSearchParams());
	parameters.assertOnce();
	return parameters;
}

/** Decodes a form. @throws invalid_request */
function readForm(body: Buffer): URLSearchParams {
	try {
		return parseFormBody(body);
	} catch (thrown) {
		const error = asGatewayError(thrown);
		throw error ? new OAuthFault('invalid_request', printable(error.message)) : thrown;
	}
}

/**
 * Refuses credentials in the URI. RFC 6749 §2.3.1: "The parameters can only be transmitted in the request-body and MUST NOT be included in
 * the request URI", where logs keep them. Unknown parameters are ignored, as §3.2 requires. @throws invalid_request
 */
export function assertNoneInQuery({ query }: Pick<Incoming, 'query'>): void {
	const name = [...query.keys()].find((key) => OF_BODY.has(key) && query.get(key) !== '');
	if (name !== undefined) throw new OAuthFault('invalid_request', `${name} must be sent in the body, not in the URI`);
}
