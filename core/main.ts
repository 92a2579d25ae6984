// The commands of the program. Each loads what it needs: a start that is refused, and a process that only watches over others, load no service.

import cluster from 'node:cluster';
import { once } from 'node:events';
import { type OwnedDatabase, superviseWorkers } from './cluster.ts';
import { type DevelopmentMessage, develop, folderOf, SERVE_FOLDER, type ServiceMessage } from './commands/dev.ts';
import { type Config, checkConfig, completeConfig, environmentWith } from './config/config.ts';
import { createLog, type ServiceLog } from './config/log.ts';
import { asGatewayError } from './contract/errors.ts';
import { DRAIN_MS, endOnSignals, type Stoppable } from './process/ending.ts';
import { addressesOf, assertListenable } from './process/listening.ts';
import { giveBackMemory } from './process/memory.ts';
import { type PluginSource, watchStrays } from './process/strays.ts';
import { ROOT } from './registry/folders.ts';
import type { Report } from './tracker/faults.ts';

/** The time limit of the whole stop of a service. */
const GRACE_MS = DRAIN_MS + 5000;
/** The commands that take no arguments. */
const BARE = ['migrate', 'rotate-key'];

/** Without a command it serves; `dev` serves with a folder of plugins; `migrate` migrates the database and ends, `check` checks plugins. */
async function run(command: string | undefined, args: readonly string[]): Promise<void> {
	if (command === 'check') return runCheck(args);
	// An argument that is passed over would do what somebody only asked about.
	if (BARE.includes(command ?? '') && args.length > 0)
		throw new Error(`Usage: ${command}, without arguments; the environment configures it.`);
	const pluginFolder = command === SERVE_FOLDER ? args[0] : undefined;
	const developed = command === 'dev' ? folderOf(args) : null;
	const checked = checkConfig();
	const log = createLog(checked.logLevel, undefined, checked.logFormat);
	const ending = endOnSignals(log);
	const strays = watchStrays(log, () => ending.fail());
	if (command === 'migrate') {
		const { database, dataDir } = completeConfig(checked);
		const { migrateDatabase } = await import('../db/index.ts');
		await migrateDatabase({ database, dataDir, log });
		return log.flush();
	}
	if (command === 'verify-audit') return runVerification(args, completeConfig(checked), log);
	if (command === 'rotate-key') return runRotation(completeConfig(checked), log);
	const isKnown = command === undefined || developed !== null || pluginFolder !== undefined;
	if (!isKnown) throw new Error(`Unknown command "${command}"; known: check, dev, migrate, rotate-key, verify-audit.`);
	// The port is tried before anything is created or started; the first process listens for all workers.
	if (cluster.isPrimary) await assertListenable(checked);
	const config = { ...completeConfig(checked), ...(pluginFolder !== undefined && (await givenDatabase())) };
	if (cluster.isPrimary) log.info(addressesOf(config), 'starting');
	const graceMs = config.shutdownDelaySeconds * 1000 + GRACE_MS;
	const ownDatabase = async (): Promise<OwnedDatabase> => {
		const { startDatabase } = await import('../db/index.ts');
		return startDatabase({ dataDir: config.dataDir, durable: true, processes: config.webConcurrency, log });
	};
	const supervisor =
		developed === null
			? await superviseWorkers(config, { log, startDatabase: ownDatabase, refused: ending.fail })
			: await superviseFolder(developed, config, ownDatabase);
	if (supervisor) {
		giveBackMemory();
		return ending.begun(supervisor, graceMs + GRACE_MS);
	}
	const loaded = (plugins: PluginSource[]): void => strays.know(plugins);
	const reporting = (report: Report): void => strays.tell(report);
	const { startService } = await import('./service.ts');
	const service = await startService(config, log, { pluginFolder, loaded, reporting });
	giveBackMemory();
	ending.begun(service, graceMs);
	if (pluginFolder !== undefined) tellSupervisor(service.url);
}

/** Checks the audit logs; the process ends with 1 when a link of one is wrong, or the organization that is asked for is not there. */
async function runVerification(args: readonly string[], { database, dataDir }: Config, log: ServiceLog): Promise<void> {
	const [{ askedProof, describeProof }, { verifyAudit }] = await Promise.all([
		import('./commands/verify-audit.ts'),
		import('../db/index.ts'),
	]);
	const asked = askedProof(args);
	const found = { checked: 0, broken: 0 };
	await verifyAudit({ database, dataDir, log }, asked, (proof) => {
		found.checked++;
		if (proof.broken !== null) found.broken++;
		process.stdout.write(`${describeProof(proof)}\n`);
	});
	if (asked.organizationId !== undefined && found.checked === 0) throw new Error('There is no organization of this id.');
	if (found.checked === 0) process.stdout.write('There are no organizations.\n');
	if (found.broken > 0) process.exitCode = 1;
	return log.flush();
}

/** Seals anew what former keys sealed; the process ends with 1 when no key opens some of it. */
async function runRotation(config: Config, log: ServiceLog): Promise<void> {
	const { describeRenewal, renewal } = await import('./commands/rotate-key.ts');
	const [{ createSecrets }, { renewSecrets }] = await Promise.all([import('./secrets/envelopes.ts'), import('../db/index.ts')]);
	const secrets = createSecrets(config.encryptionKey, log, config.formerKeys);
	const { change, counts } = renewal(secrets);
	await renewSecrets({ database: config.database, dataDir: config.dataDir, log }, secrets.keyId, change);
	process.stdout.write(describeRenewal(counts));
	if ([...counts.values()].some(({ unreadable }) => unreadable > 0)) process.exitCode = 1;
	return log.flush();
}

/** Checks a package of plugins, and ends the process: a plugin may have left a timer. */
async function runCheck(args: readonly string[]): Promise<void> {
	const { check } = await import('./commands/check.ts');
	const { text, faults, code } = await check(args, ROOT);
	process.exitCode = code;
	process.stderr.write(faults.map((fault) => `${fault}\n`).join(''), () => process.stdout.write(text, () => process.exit()));
}

/** Starts the service again and again with a folder of plugins, on one embedded database unless the environment names another. */
async function superviseFolder(folder: string, config: Config, startDatabase: () => Promise<OwnedDatabase>): Promise<Stoppable> {
	const embedded = config.database === null ? await startDatabase() : null;
	const env = environmentWith({ WEB_CONCURRENCY: '1', SHUTDOWN_DELAY_SECONDS: '0' });
	const tell = (sentence: string): void => void process.stderr.write(`${sentence}\n`);
	const database = embedded?.database ?? config.database;
	const development = develop({ folder, dataDir: config.dataDir, database, program: import.meta.filename, env, tell });
	return {
		async stop() {
			await development.stop();
			await embedded?.stop();
		},
	};
}

/** Waits until the process of `gatehouse dev` names the database that it runs: without a Redis, the environment cannot. */
async function givenDatabase(): Promise<Pick<Config, 'database'>> {
	// Only `develop` starts a process with this command.
	const [given] = (await once(process, 'message')) as [DevelopmentMessage];
	return given;
}

/** Tells the process of `gatehouse dev` where the service listens, and stops the service when that process is gone. */
function tellSupervisor(listening: string): void {
	process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
	process.send?.({ listening } satisfies ServiceMessage);
}

/** Says why a command has failed. What is away is told with its cause, which callers of the service are not told, but its operator needs. */
function reasonOf(error: unknown): string {
	if (!(error instanceof Error)) return String(error);
	const { message, cause } = error;
	return asGatewayError(error)?.code === 'unavailable' && cause instanceof Error ? `${message} (${cause.message})` : message;
}

/** Runs a command of this process, and ends the process with one sentence when it fails. */
export const runCommand = (command?: string, ...args: string[]): Promise<void> =>
	run(command, args).catch((error: unknown) => {
		// The process would live on if a plugin that failed to load had left a timer or a server.
		process.stderr.write(`${reasonOf(error)}\n`, () => process.exit(1));
	});

if (import.meta.main) void runCommand(...process.argv.slice(2));
