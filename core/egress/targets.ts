// Parses a URL that a user or an upstream supplied, and checks its target.

import { isIP } from 'node:net';
import type { SocketProtocol } from '../contract/outbound.ts';
import { mayReach, type Openings } from './addresses.ts';
import { refused, refusedAddress, shown } from './errors.ts';
import { knownUrl } from './parsed-urls.ts';
import { isRefusedPort } from './ports.ts';

export interface Target {
	/** Shared by all requests to it. */
	url: Readonly<URL>;
	/** The host as the user wrote it, for messages. */
	host: string;
	/** The host without the brackets of IPv6. */
	hostname: string;
	port: number;
	/** The operator opened this exact origin. */
	opened: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds. WHATWG drops tab and newline silently.
const CONTROL = /[\x00-\x1f\x7f]/;

/** Parses a URL and checks what needs no name server: scheme, userinfo, port, literal address. @throws egress_refused */
export function parseTarget(text: string, openings: Openings, protocol: SocketProtocol | null = null): Target {
	const url = parse(text);
	const host = hostAsWritten(text);
	const hostname = url.hostname.replace(/^\[|\]$/g, '');
	const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
	const opened = openings.origins.has(url.origin);
	if (!opened && isRefusedPort(port, protocol))
		throw refused(
			`Port ${port} of ${shown(host)} belongs to a service that does not speak ${protocol ?? 'HTTP'}. The operator may open its origin with EGRESS_ALLOW.`,
		);
	if (isIP(hostname) && !mayReach(hostname, openings, opened)) throw refusedAddress(host);
	return { url, host, hostname, port, opened };
}

function parse(text: string): Readonly<URL> {
	if (CONTROL.test(text)) throw refused('A URL may not contain control characters, tabs or line breaks.');
	const url = knownUrl(text);
	if (url === null) throw refused(`${shown(hostAsWritten(text) || text)} is not an absolute URL such as https://api.example.com/v1.`);
	if (url.protocol !== 'http:' && url.protocol !== 'https:')
		throw refused(`Outbound calls use http or https, not ${shown(url.protocol.slice(0, -1))}.`);
	// WHATWG reads `\` as `/`, other parsers as part of the host: an ambiguous URL is refused.
	if (/^[^?#]*\\/.test(text)) throw refused('A URL may not contain a backslash before its query.');
	if (url.username || url.password) throw refused(`A URL may not contain a user name or password (${shown(url.host)}).`);
	if (url.port === '0') throw refused(`Port 0 of ${shown(url.host)} cannot be called.`);
	return url;
}

function hostAsWritten(text: string): string {
	const authority = /^\s*[a-z][a-z0-9+.-]*:[\\/]*([^\\/?#]*)/i.exec(text)?.[1] ?? '';
	return authority.slice(authority.lastIndexOf('@') + 1);
}
