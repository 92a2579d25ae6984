// The folder that SVC_DATA_DIR names: made and tried before anything is begun in it, with the secrets that the service makes for itself.

import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PRIVATE = 0o700;

export interface OwnSecrets {
	jwtSecret: string;
	encryptionKey: string;
}

/** Makes the folder where it is not there, for this user only. @throws Error naming the variable, the folder and what is wrong with it */
export function prepareFolder(folder: string): void {
	try {
		makeFolder(folder);
		accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
	} catch (cause) {
		throw unusable(folder, cause);
	}
}

/** Level by level: Node's own way to make them all tries for ever where the system has no place for any (`/proc/nothing`). */
function makeFolder(folder: string): void {
	const found = statSync(folder, { throwIfNoEntry: false });
	if (found?.isDirectory()) return;
	if (found) throw new Error(`${folder} is no folder`);
	if (dirname(folder) !== folder) makeFolder(dirname(folder));
	try {
		mkdirSync(folder, { mode: PRIVATE });
	} catch (error) {
		// Another process was quicker.
		if (!isCode(error, 'EEXIST')) throw error;
	}
}

/** Made once and kept in the folder, mode 0600. @throws Error naming the variable, the folder and what is wrong with it */
export function ownSecrets(folder: string): OwnSecrets {
	const file = join(folder, 'secrets.json');
	try {
		if (!existsSync(file)) makeSecrets(file);
		return JSON.parse(readFileSync(file, 'utf8')) as OwnSecrets;
	} catch (cause) {
		// The parser's own message quotes what it read.
		throw unusable(folder, cause instanceof SyntaxError ? new Error(`${file} is not what the service wrote`) : cause);
	}
}

function makeSecrets(file: string): void {
	const made: OwnSecrets = { jwtSecret: randomBytes(48).toString('base64url'), encryptionKey: randomBytes(32).toString('hex') };
	// `wx`: when two processes start at once, the second reads what the first wrote.
	try {
		writeFileSync(file, `${JSON.stringify(made, null, '\t')}\n`, { mode: 0o600, flag: 'wx' });
	} catch (error) {
		if (!isCode(error, 'EEXIST')) throw error;
	}
}

const unusable = (folder: string, cause: unknown): Error =>
	new Error(`SVC_DATA_DIR must be a folder that the service may write to, and ${folder} cannot be used: ${reasonOf(cause)}.`, { cause });

const REASONS: Readonly<Record<string, string>> = {
	EACCES: 'this user may not write there',
	EPERM: 'this user may not write there',
	EROFS: 'it is on a file system that is read-only',
	ENOSPC: 'the disk is full',
	ENOENT: 'the system has no place for it',
	ENOTDIR: 'a part of its path is no folder',
};

function reasonOf(cause: unknown): string {
	const { code = '', message = String(cause) } = cause as NodeJS.ErrnoException;
	return REASONS[code] ?? message;
}

const isCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code;
