// Checks what authentication methods return: callers, challenges, and the texts that describe a credential.

import { PluginFault } from '../contract/errors.ts';
import type { Caller, Scope } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import { validateHeaderValue } from '../process/node-http.ts';

const MAX_SUBJECT_CHARS = 1024;
const MAX_CREDENTIAL_CHARS = 200;
const MAX_TEXT_CHARS = 500;
const MAX_CHALLENGE_CHARS = 4096;
/** The subject of callers that cannot be told apart: they are counted by their address. */
export const ANONYMOUS = 'anonymous';

const SCOPES: Readonly<Record<Scope, true>> = { 'tools:read': true, 'tools:execute': true, 'gateway:read': true };
const LINE = /^[^\p{Cc}\p{Cs}]+$/u;

/** Returns the caller that core's identity gave under this subject in this request; undefined if it gave none. */
export type GivenCaller = (subject: string) => Caller | undefined;

/** Callers that core gave and a method returned unchanged, in their checked form: those of keys are cached, and are the hot path. */
const CHECKED = new WeakMap<object, Readonly<Caller>>();

/**
 * Returns the caller, frozen and under the method's name; null when there is no credential. A subject that core's identity did not give
 * begins with the method's name, so that no method can name another one's callers.
 * @param realm see `MountedMethod`
 * @throws PluginFault
 */
export function checkCaller(method: string, value: unknown, given: GivenCaller, realm?: string): Readonly<Caller> | null {
	if (value === null || value === undefined) return null;
	const wrong = (what: string): PluginFault => new PluginFault(`auth:${method}`, `the caller that authenticate returns ${what}.`);
	if (!isObject(value)) throw wrong('must be an object or null');
	const before = CHECKED.get(value);
	if (before?.method === method && given(before.subject) === (value as unknown)) return before;
	const { subject, scopes, userId, memberSince, keyId, credential, expiresAt } = value as Partial<Record<keyof Caller, unknown>>;
	if (typeof subject !== 'string' || subject.length > MAX_SUBJECT_CHARS || !LINE.test(subject))
		throw wrong(`must have a subject: a line of 1 to ${MAX_SUBJECT_CHARS} characters`);
	if (!areScopes(scopes)) throw wrong(`must have a list of scopes, each one of ${Object.keys(SCOPES).join(', ')}`);
	const known = given(subject);
	if (isForeign(userId, known?.userId) || isForeign(memberSince, known?.memberSince) || isForeign(keyId, known?.keyId))
		throw wrong('may only have the userId, memberSince and keyId that context.identity gave for its subject in this request');
	if (credential !== undefined && (known?.credential === undefined ? !isName(credential) : credential !== known.credential))
		throw wrong(`must have as credential a line of 1 to ${MAX_CREDENTIAL_CHARS} characters, or what context.identity gave`);
	if (expiresAt !== undefined && !(expiresAt instanceof Date && !Number.isNaN(expiresAt.getTime())))
		throw wrong('must have a date as expiresAt');
	const isPlain = credential === undefined && expiresAt === undefined;
	const lasting = isPlain
		? null
		: { ...(isName(credential) && { credential }), ...(expiresAt && { expiresAt: earlier(expiresAt, known?.expiresAt) }) };
	// A list that is frozen cannot change any more; any other one is copied.
	const held = Object.isFrozen(scopes) ? scopes : Object.freeze([...scopes]);
	if (known) {
		const caller = Object.freeze({ ...known, ...lasting, method, scopes: held });
		if (known === (value as unknown)) CHECKED.set(value, caller);
		return caller;
	}
	return Object.freeze({ method, subject: ownSubject(method, subject, realm), scopes: held, ...lasting });
}

const isName = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_CREDENTIAL_CHARS && LINE.test(value);

const earlier = (one: Date, other: Date = one): Date => (other < one ? other : one);

const areScopes = (value: unknown): value is readonly Scope[] =>
	Array.isArray(value) && value.length <= 16 && value.every((scope) => typeof scope === 'string' && Object.hasOwn(SCOPES, scope));

const isForeign = (value: unknown, given: unknown): boolean => value !== undefined && value !== given;

/** No name of a method has a `#`, so a realm's subjects are nobody else's. */
const prefixOf = (method: string, realm?: string): string => (realm === undefined ? `${method}:` : `${method}#${realm}:`);

function ownSubject(method: string, subject: string, realm?: string): string {
	if (subject === ANONYMOUS) return subject;
	return prefixOf(method, realm) + (subject.startsWith(`${method}:`) ? subject.slice(method.length + 1) : subject);
}

/** Returns the caller under the subject that the method gave. */
export function withoutRealm(caller: Caller, method: string, realm?: string): Caller {
	const own = prefixOf(method, realm);
	return realm !== undefined && caller.subject.startsWith(own)
		? { ...caller, subject: `${method}:${caller.subject.slice(own.length)}` }
		: caller;
}

/** Checks a value of WWW-Authenticate; an empty one counts as none. @throws PluginFault */
export function checkChallenge(method: string, value: unknown): string {
	if (value === undefined || value === null || value === '') return '';
	if (typeof value === 'string' && value.length <= MAX_CHALLENGE_CHARS && isSendable(value)) return value;
	throw new PluginFault(`auth:${method}`, `challenge must return a header's value of at most ${MAX_CHALLENGE_CHARS} characters.`);
}

function isSendable(value: string): boolean {
	try {
		validateHeaderValue('www-authenticate', value);
		return true;
	} catch {
		// Node tells a wrong value only by throwing.
		return false;
	}
}

/** Checks the description of a credential. @throws PluginFault */
export function checkTakes(method: string, value: unknown): string | undefined {
	if (value === undefined) return undefined;
	if (typeof value === 'string' && value.length <= MAX_TEXT_CHARS && LINE.test(value)) return value;
	throw new PluginFault(`auth:${method}`, `takes must return a line of 1 to ${MAX_TEXT_CHARS} characters.`);
}
