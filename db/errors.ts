// The one place where a failure of the database becomes one of ours. A driver's text never leaves in a message.

import { BaseError, ConnectionError, ForeignKeyConstraintError } from 'sequelize';
import { type ErrorCode, GatewayError } from '../core/contract/errors.ts';

/** What a unique constraint means to the person who ran into it. */
const TAKEN: Record<string, string> = {
	users_email: 'email is taken: an account with this address exists.',
	memberships_pkey: 'The user is a member of the organization already.',
	organizations_slug: 'The slug is taken by another organization.',
	gateways_endpoint: 'endpoint is taken: another gateway of this organization has it.',
	gateway_tools_name: 'The name is taken by another tool of this gateway.',
	gateway_tools_tool: 'The tool is assigned to this gateway already.',
};

const UNAVAILABLE = 'The database cannot be reached at the moment. Try again shortly.';
const UNUSABLE = 'The input holds a value that cannot be stored: a NUL character, an unpaired surrogate, or a value out of range.';

/** SQLSTATE, or its class, with what it means. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const STATES: Record<string, [ErrorCode, string]> = {
	'08': ['unavailable', UNAVAILABLE],
	'22': ['validation_failed', UNUSABLE],
	'23502': ['validation_failed', 'The input lacks a value that is required.'],
	'23503': ['not_found', 'What this belongs to was not found.'],
	'23505': ['conflict', 'The same thing exists already.'],
	'23514': ['validation_failed', 'The input holds a value outside the allowed ones.'],
	'25006': ['unavailable', UNAVAILABLE],
	'28': ['unavailable', UNAVAILABLE],
	'3D': ['unavailable', UNAVAILABLE],
	'40': ['unavailable', 'Another change of the same thing was under way. Try again.'],
	'53': ['unavailable', UNAVAILABLE],
	'54': ['validation_failed', 'The input holds a value that is too long or nested too deep to be stored.'],
	'55P03': ['unavailable', UNAVAILABLE],
	'57': ['unavailable', UNAVAILABLE],
	'58': ['unavailable', UNAVAILABLE],
};

interface DriverError {
	code?: unknown;
	constraint?: unknown;
}

/** The same verbs, failing only with a `GatewayError`, or with what is a bug of ours. */
export function guard<T extends object>(repository: T): T {
	const guarded = Object.entries(repository).map(([name, verb]) => [name, async (...input: unknown[]) => translated(() => verb(...input))]);
	// Every property of a repository is an async verb, so name by name the shape is the same.
	return Object.fromEntries(guarded) as T;
}

/** @throws GatewayError in place of the driver's error */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		throw translate(error);
	}
}

function translate(error: unknown): unknown {
	if (error instanceof GatewayError || !(error instanceof Error)) return error;
	const driver = driverError(error);
	const state = typeof driver.code === 'string' && /^[0-9A-Z]{5}$/.test(driver.code) ? driver.code : null;
	const cause = withoutValues(error, driver, state);
	if (state === null) return isConnection(error) ? unavailable(cause) : cause;
	const known = STATES[state] ?? STATES[state.slice(0, 2)];
	if (!known) return cause;
	if (known[0] === 'unavailable') return unavailable(cause, known[1]);
	const taken = state === '23505' ? TAKEN[String(driver.constraint)] : undefined;
	return new GatewayError(known[0], taken ?? known[1], { cause });
}

/** For the log. Sequelize's and the driver's errors carry the statement's parameters, and with them secrets. */
function withoutValues(error: Error, driver: DriverError & Error, state: string | null): Error {
	if (!(error instanceof BaseError)) return error;
	const constraint = typeof driver.constraint === 'string' ? ` (${driver.constraint})` : '';
	// The text of class 22 quotes the value; in the others it names tables, columns and tokens.
	const bare = new Error(state?.startsWith('22') ? `PostgreSQL ${state}` : `PostgreSQL ${state ?? ''}: ${driver.message}${constraint}`);
	if (error.stack) bare.stack = error.stack;
	return bare;
}

/** Sequelize wraps what `pg` threw. */
const driverError = (error: Error): Error & DriverError =>
	error instanceof BaseError && 'parent' in error && error.parent instanceof Error ? error.parent : error;

/** What fails without a SQLSTATE never reached the server, or lost it: a refused, cut or silent connection. */
function isConnection(error: Error): boolean {
	if (error instanceof ConnectionError || (error instanceof BaseError && 'sql' in error)) return true;
	const { code } = error as NodeJS.ErrnoException;
	return (typeof code === 'string' && /^E[A-Z]+$/.test(code)) || (error.name === 'Error' && /connection|timeout/i.test(error.message));
}

export const unavailable = (cause: unknown, message = UNAVAILABLE): GatewayError =>
	new GatewayError('unavailable', message, { headers: { 'retry-after': '1' }, cause });

/** What `insert` gives, or null when the row that it belongs to is not there. */
export async function unlessOrphan<T>(insert: () => Promise<T>): Promise<T | null> {
	try {
		return await insert();
	} catch (error) {
		if (error instanceof ForeignKeyConstraintError) return null;
		throw error;
	}
}
