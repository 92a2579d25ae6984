// What features are trusted with: the whole core, by name.

import type { AccountOf } from './accounts.ts';
import type { ArgumentChecks } from './arguments/checks.ts';
import type { Config } from './config.ts';
import type { Signer } from './credentials.ts';
import type { Egress } from './egress.ts';
import type { ImportJobRunner } from './import-jobs.ts';
import type { Imports } from './imports.ts';
import type { Invoker } from './invoke.ts';
import type { Limits } from './limits.ts';
import type { Mail } from './mail.ts';
import type { Log } from './nouns.ts';
import type { Passwords } from './passwords.ts';
import type { Recorder } from './recorder.ts';
import type { Registry } from './registry.ts';
import type { Resets } from './resets.ts';
import type { Runtime } from './runtime.ts';
import type { Secrets } from './secrets.ts';
import type { Shared } from './shared.ts';
import type { Store } from './store.ts';
import type { Tokens } from './tokens.ts';

export interface Core {
	config: Config;
	log: Log;
	registry: Registry;
	store: Store;
	accountOf: AccountOf;
	secrets: Secrets;
	tokens: Tokens;
	passwords: Passwords;
	mail: Mail;
	resets: Resets;
	egress: Egress;
	signer: Signer;
	shared: Shared;
	argumentChecks: ArgumentChecks;
	invoker: Invoker;
	imports: Imports;
	importJobs: ImportJobRunner;
	runtime: Runtime;
	recorder: Recorder;
	limits: Limits;
	/** Aborted when the end is known: what comes is served as before, and nothing more should be sent here. */
	leaving: AbortSignal;
	/** Aborted as the first step of stopping: what is open comes to its end. */
	stopping: AbortSignal;
}
