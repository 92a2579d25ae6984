// The folder of SVC_DATA_DIR: created and checked before the start uses it, with the secrets that the service generates.

import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PRIVATE = 0o700;

export interface OwnSecrets {
	jwtSecret: string;
	encryptionKey: string;
}

/** Creates the folder if it is missing, for this user only. @throws Error naming the variable, the folder and the fault */
export function prepareFolder(folder: string): void {
	try {
		makeFolder(folder);
		accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
	} catch (cause) {
		throw unusable(folder, cause);
	}
}

/** Creates one level at a time: Node's recursive mkdir loops for ever on file systems that refuse new folders (`/proc/nothing`). */
function makeFolder(folder: string): void {
	const found = statSync(folder, { throwIfNoEntry: false });
	if (found?.isDirectory()) return;
	if (found) throw new Error(`${folder} is not a folder`);
	if (dirname(folder) !== folder) makeFolder(dirname(folder));
	try {
		mkdirSync(folder, { mode: PRIVATE });
	} catch (error) {
		// Another process created it first.
		if (!isCode(error, 'EEXIST')) throw error;
	}
}

/** Returns the secrets, generated once and kept in the folder, mode 0600. @throws Error naming the variable, the folder and the fault */
export function ownSecrets(folder: string): OwnSecrets {
	const file = join(folder, 'secrets.json');
	try {
		if (!existsSync(file)) makeSecrets(file);
		return JSON.parse(readFileSync(file, 'utf8')) as OwnSecrets;
	} catch (cause) {
		// The parser's own message quotes the file's content.
		throw unusable(folder, cause instanceof SyntaxError ? new Error(`${file} is not valid JSON`) : cause);
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
	EACCES: 'this user may not write to it',
	EPERM: 'this user may not write to it',
	EROFS: 'it is on a read-only file system',
	ENOSPC: 'the disk is full',
	ENOENT: 'the system cannot create it',
	ENOTDIR: 'a part of its path is not a folder',
};

function reasonOf(cause: unknown): string {
	const { code = '', message = String(cause) } = cause as NodeJS.ErrnoException;
	return REASONS[code] ?? message;
}

const isCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code;
