// The closed table of errors: code → HTTP status. Every failure is one of these.

const TABLE = {
	validation_failed: 400,
	schema_invalid: 400,
	egress_refused: 400,
	no_organization: 400,
	unauthorized: 401,
	forbidden: 403,
	insufficient_scope: 403,
	not_found: 404,
	tool_not_found: 404,
	method_not_allowed: 405,
	conflict: 409,
	secret_unreadable: 409,
	precondition_failed: 412,
	payload_too_large: 413,
	unsupported_media_type: 415,
	idempotency_key_reused: 422,
	agent_failed: 422,
	rate_limited: 429,
	internal: 500,
	not_implemented: 501,
	upstream_failed: 502,
	unavailable: 503,
	upstream_timeout: 504,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof TABLE;

/** Every code with its HTTP status; a test compares the README's table with it. */
export const ERRORS: Readonly<Record<ErrorCode, number>> = TABLE;

/**
 * One fault of an input. `path` is a JSON pointer into the body, or `query/name`, `header/name`, `path/name`; for a description that
 * cannot be read, the position in it; `client/<ability>` for what the client cannot do.
 */
export interface ErrorDetail {
	path: string;
	message: string;
}

export interface ErrorOptions {
	details?: ErrorDetail[];
	/** Sent as response headers: `allow`, `retry-after`, `www-authenticate`. */
	headers?: Record<string, string>;
	/** Further members of the body, such as the id of what failed. */
	more?: Readonly<Record<string, string>>;
	/** Written to the log only. */
	cause?: unknown;
}

/** `message` is safe to send; `cause` is logged. Recognised by `code`: an outside package may have its own copy of the class. */
export class GatewayError extends Error {
	readonly code: ErrorCode;
	readonly details: ErrorDetail[];
	readonly headers: Record<string, string>;
	readonly more: Readonly<Record<string, string>>;

	constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
		super(message, options.cause === undefined ? undefined : { cause: options.cause });
		this.name = 'GatewayError';
		this.code = code;
		this.details = options.details ?? [];
		this.headers = options.headers ?? {};
		this.more = options.more ?? {};
	}

	/** The abilities that its client lacks for what it asked, by the details `client/<ability>` of a `not_implemented`. */
	get lackedAbilities(): string[] {
		// A plugin's error may bring anything.
		const paths = this.details.flatMap((detail: ErrorDetail | null) => (typeof detail?.path === 'string' ? [detail.path] : []));
		return this.code === 'not_implemented' ? paths.flatMap((path) => /^client\/(.+)/.exec(path)?.[1] ?? []) : [];
	}

	/** 422 for what its client lacks, since the service is not at fault. */
	get status(): number {
		return this.lackedAbilities.length > 0 ? 422 : ERRORS[this.code];
	}
}

/** Returns the error as a GatewayError, or null if it is any other one (a bug, a library's error). */
export function asGatewayError(error: unknown): GatewayError | null {
	if (error instanceof GatewayError) return error;
	if (!(error instanceof Error)) return null;
	const { code, details, headers } = error as Partial<GatewayError>;
	if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code)) return null;
	// `code` was found in the table, so it is an ErrorCode.
	const options: ErrorOptions = { cause: error.cause };
	if (Array.isArray(details)) options.details = details;
	if (headers) options.headers = headers;
	return new GatewayError(code as ErrorCode, error.message, options);
}

/**
 * A plugin broke its contract. The message names the plugin and what was expected of it: it is logged, and the answer is `internal`; a plugin that
 * gave no answer in time is named in the answer, too, which is `upstream_timeout`.
 */
export class PluginFault extends Error {
	/** `kind:name`. */
	readonly plugin: string;
	readonly code: 'upstream_timeout' | undefined;

	constructor(plugin: string, sentence: string, { code, cause }: { code?: 'upstream_timeout'; cause?: unknown } = {}) {
		super(`${plugin}: ${sentence}`, cause === undefined ? undefined : { cause });
		this.name = 'PluginFault';
		this.plugin = plugin;
		this.code = code;
	}
}

export const notFound = (what: string): GatewayError => new GatewayError('not_found', `${what} not found.`);

/** Builds a 400 that names one field. */
export const invalid = (path: string, message: string): GatewayError =>
	new GatewayError('validation_failed', message, { details: [{ path, message }] });
