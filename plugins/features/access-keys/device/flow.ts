// The state of logins by a device code (RFC 8628): shared by all replicas, kept for ten minutes, with codes as digests only.

import { randomBytes, randomInt } from 'node:crypto';
import { type Core, hashKey, type KeyReach, type PermissionName } from '../../../../core/features.ts';

type KeyValue = ReturnType<Core['shared']['keyValue']>;

const LIFETIME_MS = 10 * 60_000;
/** The seconds between two questions of a program, and the milliseconds before which another one is too early. */
export const INTERVAL_SECONDS = 5;
const EARLY_MS = 4000;

/** RFC 8628 §6.1: letters that are told apart, and form no words. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE_LENGTH = 8;
const DEVICE_CODE_BYTES = 32;
const DEVICE_CODE = /^[\w-]{43}$/;

/** A program that waits for its user. */
export interface Waiting {
	/** The name that the program gives itself, and of the machine. */
	program: string;
	/** Digest of the device code. */
	device: string;
	expiresAt: number;
}

/** The key that a user allowed. */
export interface Grant {
	userId: string;
	email: string;
	name: string;
	reach: KeyReach;
	permissions: PermissionName[] | null;
	/** The organization that the user chose; null for none. */
	organization: { id: string; slug: string; name: string } | null;
}

export type Poll = { state: 'unknown' | 'early' | 'waiting' | 'denied' } | { state: 'granted'; grant: Grant; again(): Promise<void> };

export class DeviceFlow {
	readonly #kept: KeyValue;

	constructor(kept: KeyValue) {
		this.#kept = kept;
	}

	/** Begins a login. @returns the code of the program and the one that its user types */
	async begin(program: string): Promise<{ deviceCode: string; userCode: string; expiresInSeconds: number }> {
		const deviceCode = randomBytes(DEVICE_CODE_BYTES).toString('base64url');
		const waiting: Waiting = { program, device: digest(deviceCode), expiresAt: Date.now() + LIFETIME_MS };
		let userCode = mintUserCode();
		// Another login may have the same short code.
		while (!(await this.#kept.putIfAbsent(`user:${digest(userCode)}`, JSON.stringify(waiting), LIFETIME_MS))) userCode = mintUserCode();
		await this.#kept.put(`device:${waiting.device}`, String(waiting.expiresAt), LIFETIME_MS);
		return { deviceCode, userCode: shown(userCode), expiresInSeconds: LIFETIME_MS / 1000 };
	}

	/** Finds the program that shows a code, however it was typed; null for a code that is unknown, over or decided. */
	async find(typed: string): Promise<Waiting | null> {
		const userCode = typed.toUpperCase().replaceAll(/[^A-Z]/g, '');
		const text = userCode.length === USER_CODE_LENGTH ? await this.#kept.get(`user:${digest(userCode)}`) : null;
		// The value has the form that `begin` stored.
		const waiting = text === null ? null : (JSON.parse(text) as Waiting);
		if (!waiting || (await this.#kept.get(`outcome:${waiting.device}`)) !== null) return null;
		return waiting;
	}

	/** Decides, once. @param grant null denies it. @returns false when it was decided before, or is over */
	async decide({ device, expiresAt }: Waiting, grant: Grant | null): Promise<boolean> {
		const leftMs = expiresAt - Date.now();
		return leftMs > 0 && this.#kept.putIfAbsent(`outcome:${device}`, JSON.stringify(grant), leftMs);
	}

	/** Answers a program. A grant is given once; `again` takes that back when no key could be made of it. */
	async poll(deviceCode: string): Promise<Poll> {
		const device = digest(deviceCode);
		if (!DEVICE_CODE.test(deviceCode) || (await this.#kept.get(`device:${device}`)) === null) return { state: 'unknown' };
		if (!(await this.#kept.putIfAbsent(`polled:${device}`, '', EARLY_MS))) return { state: 'early' };
		const outcome = await this.#kept.get(`outcome:${device}`);
		if (outcome === null) return { state: 'waiting' };
		// The value has the form that `decide` stored.
		const grant = JSON.parse(outcome) as Grant | null;
		if (!grant) return { state: 'denied' };
		const taken = `taken:${device}`;
		if (!(await this.#kept.putIfAbsent(taken, '', LIFETIME_MS))) return { state: 'unknown' };
		return { state: 'granted', grant, again: () => this.#kept.drop(taken) };
	}
}

const digest = (code: string): string => hashKey(code).toString('hex');

const mintUserCode = (): string => Array.from({ length: USER_CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');

const shown = (userCode: string): string => `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
