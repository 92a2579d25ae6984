// The proxy over stdio: messages on standard input and output, everything else on standard error.

import { isOpenlyReadable, UsageError } from './gateway/address.ts';
import { WrongType } from './gateway/catalog.ts';
import { listOrganizations, namesOf } from './gateway/organization.ts';
import { Refusal } from './gateway/refusals.ts';
import { LIMITS } from './session/context.ts';
import { Session } from './session/session.ts';
import { readSettings, type Settings } from './settings.ts';
import { readLines } from './wire/lines.ts';
import { takeOutput, tell } from './wire/output.ts';

/** Connects a client until it leaves; the process ends then. @returns the exit code of a start that failed */
export async function runStdio(args: string[]): Promise<number> {
	const send = takeOutput(() => process.exit(0));
	process.on('uncaughtException', (error) => stopWith(error));
	process.on('unhandledRejection', (error) => stopWith(error));
	let settings: Settings;
	try {
		settings = readSettings(args, process.env);
	} catch (error) {
		return refuse(error);
	}
	if (isOpenlyReadable(settings.serviceUrl))
		tell(`${settings.serviceUrl} is not https: whoever is on the way can read the credential and the answers.`);
	const session = new Session({ settings, send, tell });
	let isOver = false;
	const leave = async (): Promise<void> => {
		if (isOver) return;
		isOver = true;
		await session.stop();
		process.exit(0);
	};
	for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void leave());
	const reader = readLines(
		(line) => session.receive(line),
		() => session.refuseLine(),
	);
	process.stdin.on('data', (chunk: Buffer) => reader.take(chunk));
	process.stdin.on('end', () => void leave());
	process.stdin.on('error', () => void leave());
	try {
		await session.start();
	} catch (error) {
		if (isOver) return 0;
		isOver = true;
		process.exit(await refuseWith(error, settings));
	}
	return 0;
}

/** Says why it cannot start; whoever has several organizations reads which. */
async function refuseWith(error: unknown, { serviceUrl, token }: Settings): Promise<number> {
	if (!(error instanceof Refusal && error.kind === 'organization')) return refuse(error);
	const signal = AbortSignal.timeout(LIMITS.discoveryMs);
	const names = await listOrganizations(serviceUrl, token(), signal).then(namesOf, () => 'Set SVC_ORGANIZATION to the id of one.');
	return refuse(new UsageError(`The credential belongs to several organizations, or to none. ${names}`));
}

function refuse(error: unknown): number {
	if (!(error instanceof UsageError || error instanceof Refusal || error instanceof WrongType)) throw error;
	tell(error.message);
	return 1;
}

function stopWith(error: unknown): never {
	tell(`It ends by a fault: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
	process.exit(1);
}
