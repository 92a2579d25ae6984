// By which of our addresses a client came, and whose pages may call us.

import type { Config } from '../config/config.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** The listed PUBLIC_URL that matches the Host header, else the first. Nothing else is ever taken from Host. */
export function publicUrlOf(config: Config, host: string | undefined): string {
	const [first, ...others] = config.publicUrls;
	if (others.length === 0 || host === undefined) return first;
	return config.publicUrls.find((url) => new URL(url).host === host.toLowerCase()) ?? first;
}

/** PUBLIC_URL or FRONTEND_URL: whose pages may use the cookie. */
export const isOwnOrigin = (config: Config, origin: string): boolean => config.publicUrls.includes(origin) || origin === config.frontendUrl;

const isLoopback = (origin: string): boolean => URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname);

/** PUBLIC_URL, FRONTEND_URL, and any loopback origin when PUBLIC_URL is loopback itself. */
export function isTrustedOrigin(config: Config, origin: string): boolean {
	if (isOwnOrigin(config, origin)) return true;
	return isLoopback(config.publicUrls[0]) && isLoopback(origin);
}
