// The commands `login`, `whoami` and `logout`.

import { parseArgs } from 'node:util';
import { credentialsPath, readCredentials, type StoredLogin, writeCredentials } from '../credentials/file.ts';
import { readServiceUrl, UsageError } from '../gateway/address.ts';
import { namesOf } from '../gateway/organization.ts';
import { Refusal } from '../gateway/refusals.ts';
import { serviceUrlOf, variable } from '../settings.ts';
import { loginByDevice } from './device.ts';
import { personOf, revoke } from './service.ts';

const MAX_TOKEN_CHARS = 16_384;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const { env } = process;

/** The address that is named, else the one that the proxy would use. */
const urlOf = (named: string | undefined): string => (named === undefined ? serviceUrlOf(env) : readServiceUrl(named, '--url'));

/** Logs in, and keeps the key. The key of the former login at the same service is revoked. */
export async function login(args: string[]): Promise<number> {
	const options = {
		url: { type: 'string' },
		organization: { type: 'string' },
		'with-token': { type: 'boolean', default: false },
		'no-browser': { type: 'boolean', default: false },
	} as const;
	const { values } = parseArgs({ args, options });
	const url = urlOf(values.url);
	// A file that is broken is told before the user does anything.
	const former = readCredentials(env).services[url];
	const made = values['with-token']
		? await loginWith(await readToken(), url, values.organization)
		: await loginByDevice(url, { say, opens: !values['no-browser'] && hasBrowser() });
	const { services } = readCredentials(env);
	writeCredentials({ last: url, services: { ...services, [url]: made } }, env);
	say(`Logged in at ${url}${made.email ? ` as ${made.email}` : ''}${made.organization ? `, in ${made.organization.slug}` : ''}.`);
	say(`The key is in ${credentialsPath(env)}.`);
	if (former?.keyId !== undefined && former.token !== made.token) await revoke(url, former.token).catch(tellKept);
	return 0;
}

const tellKept = (error: unknown): void =>
	void process.stderr.write(`The key of the former login could not be revoked: ${String(error)}\n`);

/** A browser needs a screen; over ssh it would open elsewhere. */
const hasBrowser = (): boolean =>
	process.stdout.isTTY === true &&
	variable(env, 'SSH_CONNECTION') === null &&
	(process.platform !== 'linux' || variable(env, 'DISPLAY') !== null || variable(env, 'WAYLAND_DISPLAY') !== null);

/** Reads a token from standard input, so that it is in no list of processes. */
async function readToken(): Promise<string> {
	let text = '';
	for await (const chunk of process.stdin.setEncoding('utf8')) {
		text += chunk;
		if (text.length > MAX_TOKEN_CHARS) throw new UsageError('What is on standard input is too long for a token.');
	}
	const token = text.trim();
	if (!/^[\x21-\x7e]+$/.test(token))
		throw new UsageError('Write the token to standard input: echo "$TOKEN" | gatehouse-proxy login --with-token');
	if (token.startsWith('svc_gw_'))
		throw new UsageError('A key of a gateway is good at that gateway only: set SVC_TOKEN where the gateway is used.');
	return token;
}

/** Checks a token, and finds its organization. */
async function loginWith(token: string, url: string, named: string | undefined): Promise<StoredLogin> {
	const { email, organizations } = await personOf(url, token);
	const found = named === undefined ? organizations : organizations.filter(({ slug, id }) => slug === named || id === named);
	if (named !== undefined && found.length === 0) throw new UsageError(`--organization names none of yours. ${namesOf(organizations)}`);
	if (found.length > 1)
		process.stderr.write(`The account belongs to several organizations: name one by --organization. ${namesOf(organizations)}\n`);
	const [organization] = found.length === 1 ? found : [];
	return { token, ...(email !== null && { email }), ...(organization && { organization }), createdAt: new Date().toISOString() };
}

/** Says who is logged in, and where. */
export async function whoami(args: string[]): Promise<number> {
	const { values } = parseArgs({ args, options: { url: { type: 'string' } } as const });
	const url = urlOf(values.url);
	const stored = readCredentials(env).services[url];
	const token = variable(env, 'SVC_TOKEN') ?? stored?.token;
	if (token === undefined) throw new UsageError(`Nobody is logged in at ${url}.`);
	const { email, organizations } = await personOf(url, token);
	say(`${email ?? 'A key that may not say whose it is'}, at ${url}`);
	for (const { id, slug, name } of organizations) say(`  ${slug} (${name})${id === stored?.organization?.id ? ', chosen' : ''}`);
	return 0;
}

/** Revokes the key, and forgets it. A key that could not be revoked is kept, unless `--local` says otherwise. */
export async function logout(args: string[]): Promise<number> {
	const { values } = parseArgs({ args, options: { url: { type: 'string' }, local: { type: 'boolean', default: false } } as const });
	const url = urlOf(values.url);
	const stored = readCredentials(env).services[url];
	if (!stored) throw new UsageError(`Nobody is logged in at ${url}.`);
	if (stored.keyId !== undefined && !values.local) {
		await revoke(url, stored.token).catch((error: unknown) => {
			if (!(error instanceof Refusal)) throw error;
			throw new UsageError(
				`The key could not be revoked, and is kept: ${error.message} \`gatehouse-proxy logout --local\` forgets it all the same.`,
			);
		});
	}
	const { last, services } = readCredentials(env);
	const { [url]: _removed, ...others } = services;
	writeCredentials({ last: last === url ? null : last, services: others }, env);
	say(
		stored.keyId === undefined || values.local
			? `Logged out at ${url}; the token itself is still valid.`
			: `Logged out at ${url}; the key is revoked.`,
	);
	return 0;
}
