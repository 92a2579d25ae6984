// The demo's account: registered on the first run, and reused on later ones from a file beside the database.

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRest, type Rest, RestFailure } from './rest.ts';

export interface Account {
	email: string;
	password: string;
}

export interface Session {
	rest: Rest;
	organization: { id: string; name: string; slug: string };
	/** Whether this run registered the account. */
	isNew: boolean;
}

/**
 * Reads or creates the account. Each data folder has a password of its own, mode 0600, since the service may listen beyond this machine.
 */
export async function readAccount(dataDir: string): Promise<Account> {
	const file = join(dataDir, 'demo-account.json');
	const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
		if (error.code === 'ENOENT') return null;
		throw error;
	});
	// This function wrote the file.
	if (kept !== null) return JSON.parse(kept) as Account;
	const account = { email: 'demo@example.com', password: `Demo-1-${randomBytes(12).toString('base64url')}` };
	await mkdir(dataDir, { recursive: true, mode: 0o700 });
	await writeFile(file, `${JSON.stringify(account, null, '\t')}\n`, { mode: 0o600 });
	return account;
}

export async function enter(url: string, account: Account): Promise<Session> {
	const stranger = createRest(url);
	const former = await stranger<{ token: string }>('POST', '/auth/login', account).catch((error: unknown) => {
		if (error instanceof RestFailure && error.status === 401) return null;
		throw error;
	});
	const { token } = former ?? (await register(stranger, account));
	const rest = createRest(url, token);
	const { organizations } = await rest<{ organizations: Session['organization'][] }>('GET', '/auth/profile');
	const [organization] = organizations;
	if (!organization) throw new Error('the demo account is in no organization');
	return { rest, organization, isNew: former === null };
}

const register = (stranger: Rest, account: Account): Promise<{ token: string }> =>
	stranger('POST', '/auth/register', { ...account, firstName: 'Demo', lastName: 'User', organizationName: 'Demo' });
