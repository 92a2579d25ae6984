// Core's identities on a store, without a server, and the people that tests look up with them.

import { randomUUID } from 'node:crypto';
import { loadConfig } from '../../core/config/config.ts';
import type { Identity } from '../../core/contract/context.ts';
import type { Gateway } from '../../core/contract/nouns.ts';
import type { MountedGateway } from '../../core/gateways/mount.ts';
import { noKeysYet } from '../../core/identity/gateway-keys.ts';
import { createIdentities } from '../../core/identity/identity.ts';
import { Members } from '../../core/identity/members.ts';
import { createResets } from '../../core/identity/password-resets.ts';
import { createLimits } from '../../core/limits/limits.ts';
import { limitTable } from '../../core/limits/table.ts';
import { createWindows } from '../../core/limits/windows.ts';
import { createMail } from '../../core/mail/mail.ts';
import { createPasswords, type Passwords } from '../../core/secrets/passwords.ts';
import { createTokens, type Tokens } from '../../core/secrets/tokens.ts';
import { joinReplicas } from '../../core/shared/presence.ts';
import { createShared } from '../../core/shared/redis.ts';
import { Recorder } from '../../core/store/recorder.ts';
import type { Store } from '../../core/store/store.ts';
import { addGateway } from './samples.ts';
import { silent } from './silent.ts';

export const SECRET = 's'.repeat(64);
export const tokens = createTokens(SECRET);

export interface TestIdentities {
	at(gateway: Gateway): Identity;
	close(): Promise<void>;
}

/** Replacements of the ordinary parts, which a test counts. */
interface Watched {
	passwords?: Passwords;
	tokens?: Tokens;
}

/** Starts the identities. @param store its owner closes it, afterwards */
export async function startIdentities(store: Store, watched: Watched = {}): Promise<TestIdentities> {
	const config = loadConfig({ JWT_SECRET: SECRET, ENCRYPTION_KEY: 'ab'.repeat(32), PUBLIC_URL: 'http://gate.example' });
	const shared = await createShared(null, silent);
	const windows = createWindows(shared, await joinReplicas(shared, 'one'), silent);
	const recorder = new Recorder(store, silent);
	const limits = createLimits(limitTable(config), windows, config);
	const mail = createMail(config, silent);
	const resets = createResets({ config, store, mail, log: silent });
	const own = { store, tokens, passwords: createPasswords(), ...watched, recorder };
	const members = new Members(own);
	const identities = createIdentities({ ...own, members, config, limits, resets });
	return {
		// Only these members of the mounted gateway are used. Without a request nothing is counted.
		at: (gateway) => identities.at({ gateway, keys: noKeysYet() } as Partial<MountedGateway> as MountedGateway, null),
		async close() {
			identities.close();
			members.close();
			await resets.close();
			await mail.close();
			await recorder.close();
			windows.close();
			await shared.close();
		},
	};
}

export async function gatewayOf(store: Store, organizationId: string, endpoint: string): Promise<Gateway> {
	const { id } = await addGateway(store, organizationId, endpoint);
	// No other member of the gateway is read.
	return { id, organizationId } as Partial<Gateway> as Gateway;
}

/** Logs an account in whose stored hash is `hash`, like those of all samples. */
export async function logIn(store: Store, userId: string): Promise<{ sessionId: string; token: string }> {
	const sessionId = randomUUID();
	await store.accounts.startSession({ id: sessionId, userId, address: '127.0.0.1', userAgent: null, passwordHash: 'hash' });
	return { sessionId, token: tokens.issue({ sessionId, userId, at: new Date() }) };
}
