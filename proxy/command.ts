// Runs a command for people: its mistakes are sentences on standard error.

import { UsageError } from './gateway/address.ts';
import { Refusal } from './gateway/refusals.ts';

/** @returns the exit code */
export async function run(command: (args: string[]) => Promise<number>, args: string[]): Promise<number> {
	try {
		return await command(args);
	} catch (error) {
		if (!(error instanceof UsageError || error instanceof Refusal || isOfArguments(error) || isOfFiles(error))) throw error;
		process.stderr.write(`${error.message}\n`);
		return 1;
	}
}

/** Node's own error for options that there are not. */
const isOfArguments = (error: unknown): error is Error =>
	error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');

/** The system's errors about files, which name them. */
const isOfFiles = (error: unknown): error is Error => error instanceof Error && 'syscall' in error && 'path' in error;
