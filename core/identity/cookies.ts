// The cookie that carries a browser's token (specification 5.1 rule 2). It is accepted by the management API only.

import type { Config } from '../config/config.ts';
import { publicUrlOf } from '../http/origins.ts';
import { TOKEN_LIFETIME_SECONDS } from '../secrets/tokens.ts';

const NAME = 'gatehouse_token';
/** RFC 6265bis §4.1.3.2: a browser accepts a `__Host-` cookie only from this host, over https, for the whole host. */
const SECURE_NAME = `__Host-${NAME}`;

/** Whether a cookie is the one of a login; browsers compare the prefix of its name without regard to case. */
export const isTokenCookie = (name: string): boolean => name.toLowerCase() === NAME || name.toLowerCase() === SECURE_NAME.toLowerCase();

const isSecure = (config: Config, host: string | undefined): boolean => publicUrlOf(config, host).startsWith('https:');

/** Returns a value for Set-Cookie; with null, one that removes the cookie. */
export function tokenCookie(config: Config, host: string | undefined, token: string | null): string {
	const secure = isSecure(config, host);
	const age = token === null ? 0 : TOKEN_LIFETIME_SECONDS;
	return `${secure ? SECURE_NAME : NAME}=${token ?? ''}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? '; Secure' : ''}`;
}

/** Reads the token; null when there is none. A cookie that occurs twice counts as none, since nobody can tell which of the two is ours. */
export function readTokenCookie(config: Config, headers: { host?: string | undefined; cookie?: string | undefined }): string | null {
	const name = isSecure(config, headers.host) ? SECURE_NAME : NAME;
	const values = (headers.cookie ?? '').split(';').flatMap((pair) => {
		const [key, ...value] = pair.split('=');
		return key?.trim() === name ? [value.join('=').trim()] : [];
	});
	return values.length === 1 ? values[0] || null : null;
}
