// The only place that translates failures of the database into our errors. A driver's text never appears in a message.

import { BaseError, ConnectionError, ForeignKeyConstraintError } from 'sequelize';
import { type ErrorCode, GatewayError } from '../core/contract/errors.ts';

/** The fields that violated unique constraints are about, where a body has them. */
const FIELDS: Record<string, string> = { users_email: '/email', gateways_endpoint: '/endpoint', skills_name: '/name' };

/** Messages for violated unique constraints, for the user who caused them. */
const TAKEN: Record<string, string> = {
	users_email: 'email is taken: an account with this address exists.',
	memberships_pkey: 'The user is already a member of the organization.',
	organizations_slug: 'The slug is taken by another organization.',
	gateways_endpoint: 'endpoint is taken: another gateway of this organization has it.',
	gateway_tools_name: 'The name is taken by another tool of this gateway.',
	skills_name: 'name is taken: another skill of this organization has it.',
	gateway_tools_tool: 'The tool is already assigned to this gateway.',
};

const UNREACHABLE = 'The database cannot be reached at the moment. Try again shortly.';
const BUSY = 'The database is busy at the moment. Try again shortly.';
const UNABLE = 'The database cannot do this at the moment. Try again shortly.';
const UNUSABLE = 'The input holds a value that cannot be stored: a NUL character, an unpaired surrogate, or a value out of range.';

/** Errors by SQLSTATE, or by its class. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const STATES: Record<string, [ErrorCode, string]> = {
	'08': ['unavailable', UNREACHABLE],
	'22': ['validation_failed', UNUSABLE],
	'23502': ['validation_failed', 'The input lacks a required value.'],
	'23503': ['not_found', 'The resource that this belongs to was not found.'],
	'23505': ['conflict', 'This already exists.'],
	'23514': ['validation_failed', 'The input holds a value outside the allowed ones.'],
	// The server is a standby, which takes no changes.
	'25006': ['unavailable', UNABLE],
	'28': ['unavailable', UNREACHABLE],
	'3D': ['unavailable', UNREACHABLE],
	'40': ['unavailable', 'Another change of the same resource was under way. Try again.'],
	'53': ['unavailable', UNABLE],
	'53300': ['unavailable', BUSY],
	'54': ['validation_failed', 'The input holds a value that is too long or nested too deep to be stored.'],
	'55P03': ['unavailable', BUSY],
	'57': ['unavailable', UNREACHABLE],
	'57014': ['unavailable', BUSY],
	'58': ['unavailable', UNABLE],
};

interface DriverError {
	code?: unknown;
	constraint?: unknown;
}

/** Wraps a repository so that it fails only with a `GatewayError`, or with a bug of ours. */
export function guard<T extends object>(repository: T): T {
	const guarded = Object.entries(repository).map(([name, verb]) => [name, async (...input: unknown[]) => translated(() => verb(...input))]);
	// Every property of a repository is an async verb, so name by name the shape is the same.
	return Object.fromEntries(guarded) as T;
}

/** @throws GatewayError instead of the driver's error */
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
	const state = stateOf(error);
	const cause = withoutValues(error, driver, state);
	if (state === null) return isConnection(error) ? unavailable(cause) : cause;
	const known = STATES[state] ?? STATES[state.slice(0, 2)];
	if (!known) return cause;
	if (known[0] === 'unavailable') return unavailable(cause, known[1]);
	const constraint = state === '23505' ? String(driver.constraint) : '';
	const message = TAKEN[constraint] ?? known[1];
	const path = FIELDS[constraint];
	return new GatewayError(known[0], message, { cause, ...(path && { details: [{ path, message }] }) });
}

/** Strips an error for the log: errors of Sequelize and the driver carry the statement's parameters, and with them secrets. */
function withoutValues(error: Error, driver: DriverError & Error, state: string | null): Error {
	if (!(error instanceof BaseError)) return error;
	const constraint = typeof driver.constraint === 'string' ? ` (${driver.constraint})` : '';
	// The text of class 22 quotes the value; in the others it names tables, columns and tokens.
	const source = state === null ? 'PostgreSQL' : `PostgreSQL ${state}`;
	const bare = new Error(state?.startsWith('22') ? source : `${source}: ${driver.message}${constraint}`);
	if (error.stack) bare.stack = error.stack;
	return bare;
}

/** Unwraps the error of `pg` from Sequelize's. */
const driverError = (error: Error): Error & DriverError =>
	error instanceof BaseError && 'parent' in error && error.parent instanceof Error ? error.parent : error;

/** Tells whether the connection failed: an error without a SQLSTATE never reached the server, or lost it. */
function isConnection(error: Error): boolean {
	if (error instanceof ConnectionError || (error instanceof BaseError && 'sql' in error)) return true;
	const { code } = error as NodeJS.ErrnoException;
	return (typeof code === 'string' && /^E[A-Z]+$/.test(code)) || (error.name === 'Error' && /connection|timeout/i.test(error.message));
}

export const unavailable = (cause: unknown, message = UNREACHABLE): GatewayError =>
	new GatewayError('unavailable', message, { headers: { 'retry-after': '1' }, cause });

/** The error for a timeout of a database that is reachable. */
export const busy = (error: Error): GatewayError => unavailable(withoutValues(error, driverError(error), null), BUSY);

/** Returns the SQLSTATE that the server reported; null when it reported none. */
export function stateOf(error: Error): string | null {
	const { code } = driverError(error);
	// Every SQLSTATE has a digit; system errors such as EPIPE have none.
	return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Runs `insert`; null when the row that it belongs to does not exist. */
export async function unlessOrphan<T>(insert: () => Promise<T>): Promise<T | null> {
	try {
		return await insert();
	} catch (error) {
		if (error instanceof ForeignKeyConstraintError) return null;
		throw error;
	}
}
