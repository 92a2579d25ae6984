// Parameters of a request: each at most once, and an empty one is none (RFC 6749 §3.1).

import { asGatewayError, type Incoming, mediaTypeOf, parseFormBody } from '../../../core/index.ts';
import { OAuthFault, printable } from './faults.ts';

/** Of those that a request may name more than once there is one: `resource` (RFC 8707 §2). */
const REPEATABLE = new Set(['resource']);
const FORM = 'application/x-www-form-urlencoded';
/** Credentials, and what else the endpoints read of a body. */
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
	if (mediaTypeOf(contentType) !== FORM) throw new OAuthFault('invalid_request', `Content-Type must be ${FORM}`);
	const parameters = new Parameters(Buffer.isBuffer(body) ? readForm(body) : new URLSearchParams());
	parameters.assertOnce();
	return parameters;
}

/** @throws invalid_request */
function readForm(body: Buffer): URLSearchParams {
	try {
		return parseFormBody(body);
	} catch (thrown) {
		const error = asGatewayError(thrown);
		throw error ? new OAuthFault('invalid_request', printable(error.message)) : thrown;
	}
}

/**
 * RFC 6749 §2.3.1: "The parameters can only be transmitted in the request-body and MUST NOT be included in the request URI", where logs
 * keep them. What is not known is ignored, as §3.2 asks. @throws invalid_request
 */
export function assertNoneInQuery({ query }: Pick<Incoming, 'query'>): void {
	const name = [...query.keys()].find((key) => OF_BODY.has(key) && query.get(key) !== '');
	if (name !== undefined) throw new OAuthFault('invalid_request', `${name} must be sent in the body, not in the URI`);
}
