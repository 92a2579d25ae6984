// The service's own origins, and the origins whose pages may call it.

import type { Config } from '../config/config.ts';
import { parseAddress } from '../kit/ip-addresses.ts';

/** Returns the listed PUBLIC_URL that matches the Host header, else the first. Host is used for nothing else. */
export function publicUrlOf(config: Config, host: string | undefined): string {
	const [first, ...others] = config.publicUrls;
	if (others.length === 0 || host === undefined) return first;
	return config.publicUrls.find((url) => isHostOf(url, host.toLowerCase())) ?? first;
}

/** Tells whether a Host header names a URL's host; some proxies write the default port, too. */
function isHostOf(url: string, host: string): boolean {
	const { protocol, host: own, port } = new URL(url);
	return own === host || (port === '' && `${own}:${protocol === 'https:' ? 443 : 80}` === host);
}

/** Whether an origin is PUBLIC_URL or FRONTEND_URL, whose pages may use the cookie. */
export const isOwnOrigin = (config: Config, origin: string): boolean => config.publicUrls.includes(origin) || origin === config.frontendUrl;

/** RFC 6761 §6.3: names below `localhost` are loopback as it is, and browsers ask no name server for them. */
function isLoopback(origin: string): boolean {
	const hostname = URL.canParse(origin) ? new URL(origin).hostname : '';
	const isName = hostname === 'localhost' || hostname.endsWith('.localhost');
	return isName || parseAddress(hostname)?.range() === 'loopback';
}

/** Whether the service is reached from its own machine alone, by its first PUBLIC_URL. */
export const isLocal = ({ publicUrls }: Pick<Config, 'publicUrls'>): boolean => isLoopback(publicUrls[0]);

/** Whether an origin is PUBLIC_URL, FRONTEND_URL, or any loopback origin when PUBLIC_URL is loopback itself. */
export function isTrustedOrigin(config: Config, origin: string): boolean {
	if (isOwnOrigin(config, origin)) return true;
	return isLocal(config) && isLoopback(origin);
}
