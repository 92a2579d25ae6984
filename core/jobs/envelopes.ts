// Jobs at rest: whatever a plugin gives or returns is encrypted as a whole, bound to its organization, kind and place.

import { randomUUID } from 'node:crypto';
import type { Caller, Json, JsonObject, Scope } from '../contract/nouns.ts';
import { isObject } from '../kit/json.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type { Run } from '../store/store.ts';
import type { CallReach, JobScope } from '../tools/job-desk.ts';

/** The input of a run, of which nothing tells what it is about. */
export type SealedInput = {
	/** `kind:name`. */
	plugin: string;
	gatewayId: string | null;
	/** The name of the envelopes, and of the webhook. */
	ref: string;
	sealed: string;
};

type JobOrigin = Pick<Run, 'organizationId' | 'kind'>;
type InputContext = Omit<SealedInput, 'sealed'>;

export const inputOf = ({ input }: Pick<Run, 'input'>): SealedInput => {
	if (!isObject(input) || typeof input['sealed'] !== 'string') throw new Error('The run was begun by no job.');
	// This room alone starts runs of its kinds.
	return input as SealedInput;
};

export function sealInput(secrets: Secrets, { plugin, organizationId, gateway }: JobScope, kind: string, content: JsonObject): SealedInput {
	const around = { plugin, gatewayId: gateway?.id ?? null, ref: randomUUID() };
	return { ...around, sealed: secrets.sealJson(content, locationOf({ organizationId, kind }, around)) };
}

/** @throws secret_unreadable */
export function openInput(secrets: Secrets, run: JobOrigin & Pick<Run, 'input'>): JsonObject {
	const input = inputOf(run);
	// `sealInput` sealed an object.
	return secrets.openJson(input.sealed, locationOf(run, input), 'The data of the job') as JsonObject;
}

/** Seals what a run tells or returns. */
export const sealOut = (secrets: Secrets, run: JobOrigin & Pick<Run, 'input'>, value: Json): JsonObject => ({
	sealed: secrets.sealJson([value], locationOf(run, inputOf(run))),
});

/** Opens what `sealOut` sealed; null for null. @throws secret_unreadable */
export function openOut(secrets: Secrets, run: JobOrigin & Pick<Run, 'input'>, value: Json): Json {
	if (!isObject(value) || typeof value['sealed'] !== 'string') return null;
	const [opened = null] = secrets.openJson(value['sealed'], locationOf(run, inputOf(run)), 'The output of the job') as [Json];
	return opened;
}

const locationOf = ({ organizationId, kind }: JobOrigin, { plugin, gatewayId, ref }: InputContext): SecretLocation => ({
	organizationId,
	table: 'runs',
	row: JSON.stringify([kind, plugin, gatewayId, ref]),
});

export const isOfScope = (run: Run, { plugin, gateway }: JobScope): boolean => {
	const input = inputOf(run);
	return input.plugin === plugin && input.gatewayId === (gateway?.id ?? null);
};

/** A caller, as JSON. */
export const storedCaller = (caller: Caller | null): JsonObject | null => {
	if (!caller) return null;
	const { method, subject, scopes, userId, memberSince, keyId, credential, expiresAt } = caller;
	const texts = { userId, memberSince: memberSince?.toISOString(), keyId, credential, expiresAt: expiresAt?.toISOString() };
	const given = Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined);
	return { method, subject, scopes: [...scopes], ...Object.fromEntries(given) };
};

/** @param stored as `storedCaller` wrote it, and the envelope kept it */
export function revivedCaller(stored: Json): Caller | null {
	if (!isObject(stored)) return null;
	const { memberSince, expiresAt, ...rest } = stored as unknown as Omit<Caller, 'memberSince' | 'expiresAt'> & Record<string, string>;
	return {
		...(rest as unknown as { method: string; subject: string; scopes: Scope[] }),
		...(memberSince !== undefined && { memberSince: new Date(memberSince) }),
		...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
	};
}

/** The reach of a call over several gateways, as JSON. */
export const storedReach = (reach: CallReach | undefined): JsonObject | null =>
	reach ? { path: reach.path, gateways: reach.gateways === 'all' ? 'all' : [...reach.gateways] } : null;

/** @param stored as `storedReach` wrote it, and the envelope kept it */
export const revivedReach = (stored: Json): CallReach | null => (isObject(stored) ? (stored as unknown as CallReach) : null);
