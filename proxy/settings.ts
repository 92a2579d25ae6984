// The settings of the proxy, from its arguments, its environment and the credentials file (specification 1, "Companion MCP proxy client").

import { readCredentials, type StoredLogin } from './credentials/file.ts';
import { type GatewayName, readGatewayName, readServiceUrl, SERVICE_URL, UsageError } from './gateway/address.ts';
import { howToLogIn } from './gateway/refusals.ts';

export type Mode = 'skill-first' | 'full';

export interface Settings {
	serviceUrl: string;
	/** Null: the universal endpoint. */
	gateway: GatewayName | null;
	mode: Mode;
	/** SVC_ORGANIZATION, an id or a slug, for the universal endpoint; null leaves it to the login. */
	organization: string | null;
	/** Returns the credential of now: that of the file may be renewed by another login. */
	token(): string;
	/** Returns the id of the organization of the login of now, for the universal endpoint; null: the credential says it. */
	loginOrganization(): string | null;
	/** Reads the credentials file again. @returns whether the credential or its organization is another one now */
	reload(): boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const MODES: readonly Mode[] = ['skill-first', 'full'];

/** Returns the value of a variable; an empty one counts as absent, and so does one that a client left unfilled, since clients write such. */
export function variable(env: Environment, name: string): string | null {
	const value = env[name]?.trim() ?? '';
	return value === '' || /^\$\{[\w.:-]+\}$/.test(value) ? null : value;
}

/** @throws UsageError */
export function readSettings(args: readonly string[], env: Environment): Settings {
	const [first, ...others] = args;
	if (others.length > 0) throw new UsageError(`One gateway at most can be given, and these are too many: ${others.join(' ')}.`);
	const named = first ?? variable(env, 'SVC_GATEWAY_ID');
	const gateway = named === null ? null : readGatewayName(named);
	const serviceUrl = serviceUrlOf(env);
	const given = variable(env, 'SVC_TOKEN');
	let login = given === null ? loginAt(serviceUrl, env) : null;
	const token = (): string => given ?? login?.token ?? '';
	const loginOrganization = (): string | null => (gateway ? null : (login?.organization?.id ?? null));
	if (token() === '') throw new UsageError(`There is no credential for ${serviceUrl}. ${howToLogIn(serviceUrl)}`);
	if (/[^\x21-\x7e]/.test(token())) throw new UsageError('SVC_TOKEN has spaces or characters that no access key or token has.');
	return {
		serviceUrl,
		gateway,
		mode: readMode(variable(env, 'SVC_MODE')),
		organization: gateway ? null : variable(env, 'SVC_ORGANIZATION'),
		...{ token, loginOrganization },
		reload() {
			if (given !== null) return false;
			const [before, organizationBefore] = [token(), loginOrganization()];
			login = renewedAt(serviceUrl, env) ?? login;
			return token() !== before || loginOrganization() !== organizationBefore;
		},
	};
}

/** Returns the address of the service: that of SVC_URL, else of the last login, else the one of this package. @throws UsageError */
export function serviceUrlOf(env: Environment): string {
	const named = variable(env, 'SVC_URL');
	if (named !== null) return readServiceUrl(named, 'SVC_URL');
	return readCredentials(env).last ?? SERVICE_URL;
}

const loginAt = (serviceUrl: string, env: Environment): StoredLogin | null => readCredentials(env).services[serviceUrl] ?? null;

/** Returns the login of now; null where there is none, or the file is broken, which the next login tells. */
function renewedAt(serviceUrl: string, env: Environment): StoredLogin | null {
	try {
		return loginAt(serviceUrl, env);
	} catch (error) {
		if (error instanceof UsageError) return null;
		throw error;
	}
}

function readMode(text: string | null): Mode {
	const mode = MODES.find((one) => one === (text ?? 'skill-first'));
	if (mode) return mode;
	throw new UsageError(`SVC_MODE is "${text?.slice(0, 40)}", and must be one of ${MODES.join(', ')}.`);
}
