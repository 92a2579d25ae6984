// `npm run demo`: starts the service and a sample API, runs the main job between them, and prints it step by step. `--once` stops
// everything after the last step.

import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { type Config, loadConfig } from '../core/config/config.ts';
import { onSignals } from '../core/process/ending.ts';
import { startService } from '../core/service.ts';
import { readAccount } from './account.ts';
import { describeConnecting, type Published } from './connect.ts';
import { doMainJob } from './job.ts';
import { findPort } from './ports.ts';
import { startSampleApi } from './sample-api.ts';
import { createSteps, type Step } from './steps.ts';

/** The sample API's port where it is free, as the README names it. */
const SAMPLE_PORT = 4000;

const print = (line: string): void => console.log(line);

async function main(): Promise<void> {
	const { values } = parseArgs({ options: { once: { type: 'boolean', default: false } } });
	const interruption = new AbortController();
	onSignals((name, time) => (time === 1 ? interruption.abort(new Error(`Stopped by ${name}.`)) : process.exit(1)));
	const { signal } = interruption;
	await using running = new AsyncDisposableStack();
	const published = await demonstrate(createSteps(print, signal), running);
	print(`\n${describeConnecting(published)}`);
	if (values.once) return;
	print('\nThe service and the sample API keep running. Ctrl-C stops them.');
	if (!signal.aborted) await once(signal, 'abort');
}

/** @param running collects the resources to be released at the end */
async function demonstrate(step: Step, running: AsyncDisposableStack): Promise<Published> {
	const sample = await step('Start the sample API', async () => {
		const value = await startSampleApi({ port: await findPort('127.0.0.1', SAMPLE_PORT) });
		running.defer(value.stop);
		return { value, got: `${value.url}/openapi.json` };
	});
	const { service, dataDir } = await step('Start Gatehouse', async () => {
		const { config, note } = await configure(process.env, sample.url);
		const service = await startService(config);
		running.defer(service.stop);
		return { value: { service, dataDir: config.dataDir }, got: `${service.url}, embedded PostgreSQL in ${config.dataDir}${note}` };
	});
	return doMainJob(step, service.url, await readAccount(dataDir), sample);
}

type Env = Record<string, string | undefined>;

/** Builds the configuration from these variables only: the demo runs on the embedded database, whatever else is set. */
async function configure(env: Env, sampleUrl: string): Promise<{ config: Config; note: string }> {
	const chosen = {
		HOST: env['HOST'],
		PORT: env['PORT'],
		LOG_LEVEL: env['LOG_LEVEL'] ?? 'warn',
		SVC_DATA_DIR: env['SVC_DATA_DIR'] ?? '.gatehouse/demo',
		EGRESS_ALLOW: [sampleUrl, env['EGRESS_ALLOW']].filter(Boolean).join(','),
	};
	const config = loadConfig(chosen);
	const port = await findPort(config.host, config.port);
	if (port === config.port) return { config, note: '' };
	return { config: loadConfig({ ...chosen, PORT: String(port) }), note: ` (port ${config.port} is taken)` };
}

main().catch((error: Error) => {
	console.error(error.message);
	process.exitCode = 1;
});
