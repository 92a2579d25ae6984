// The credentials file: one login for each service, readable by its owner alone, replaced as a whole.

import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { UsageError } from '../gateway/address.ts';
import type { Environment } from '../settings.ts';
import { isObject } from '../wire/messages.ts';

export interface StoredLogin {
	/** The access key, or a token that was given. */
	token: string;
	/** The id of the access key, by which it is revoked; absent for a token that was given. */
	keyId?: string;
	/** The organization that requests to the universal endpoint name. */
	organization?: { id: string; slug: string; name: string };
	email?: string;
	createdAt: string;
}

export interface Credentials {
	/** The address of the last login; null after its logout. */
	last: string | null;
	services: Record<string, StoredLogin>;
}

/** Returns the folder of this program's files, where the platform keeps such. */
export function configFolder(env: Environment, platform: NodeJS.Platform = process.platform): string {
	const home = env['HOME'] || homedir();
	if (platform === 'win32') return join(env['APPDATA'] || join(home, 'AppData', 'Roaming'), 'gatehouse');
	if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'gatehouse');
	return join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'gatehouse');
}

export const credentialsPath = (env: Environment): string => join(configFolder(env), 'credentials.json');

/** Reads the file; a missing one holds nothing. @throws UsageError for a file that is broken */
export function readCredentials(env: Environment): Credentials {
	const path = credentialsPath(env);
	let text: string;
	try {
		text = readFileSync(path, 'utf8');
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === 'ENOENT' || code === 'ENOTDIR') return { last: null, services: {} };
		throw new UsageError(`The credentials file ${path} cannot be read (${code}).`);
	}
	try {
		const value: unknown = JSON.parse(text);
		if (isObject(value) && isObject(value['services'])) {
			const services = Object.entries(value['services']).filter(([, login]) => isObject(login) && typeof login['token'] === 'string');
			const last = typeof value['last'] === 'string' ? value['last'] : null;
			// Each login was checked above.
			return { last, services: Object.fromEntries(services) as unknown as Credentials['services'] };
		}
	} catch {
		// It is told below, without its content.
	}
	throw new UsageError(`The credentials file ${path} is broken: remove it, and log in again.`);
}

/** Replaces the file: whoever reads meanwhile reads the former one or the new one. */
export function writeCredentials(credentials: Credentials, env: Environment): void {
	writePrivately(credentialsPath(env), `${JSON.stringify(credentials, null, '\t')}\n`);
}

/** Writes a file that only its owner may read, in a folder that only its owner may enter if it is new. */
export function writePrivately(path: string, text: string): void {
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	const draft = `${path}.${randomBytes(6).toString('hex')}`;
	try {
		const file = openSync(draft, 'wx', 0o600);
		try {
			writeSync(file, text);
			fsyncSync(file);
		} finally {
			closeSync(file);
		}
		chmodSync(draft, 0o600);
		renameSync(draft, path);
	} catch (error) {
		rmSync(draft, { force: true });
		throw error;
	}
}
