// The tables of specification 8, word for word, and the windows that they promise.

import type { Window } from '../../core/contract/limits.ts';

/** "The global throttle is 100 requests per 60 seconds". */
export const GLOBAL: Window = { max: 100, seconds: 60 };

/** 8.1: category, limit, window. */
export const CATEGORIES = `
| /auth/* | 10 requests | per minute |
| /apis/*, /tools/*, /gateways/* | 120 | per minute |
| /agents/:id/invoke | 60 | per minute |
| /mcp/*, /a2a/*, /utcp/* | 300 | per minute |
| /analytics/* | 30 | per minute |
| /health* | none | |`;

/** 8.2, "in addition to the global throttle": endpoint, limit per IP. */
export const ROUTES = `
| POST /auth/register | 10 per hour |
| POST /auth/login | 10 per 5 minutes |
| POST /auth/forgot-password | 5 per hour |
| POST /auth/refresh | 20 per 5 minutes |
| GET /auth/check-organization-name | 30 per minute |
| POST /:org/:gw/register (dynamic client registration) | 10 per 5 minutes |`;

const rowsOf = (table: string): string[][] =>
	table
		.trim()
		.split('\n')
		.map((line) =>
			line
				.slice(1, -1)
				.split('|')
				.map((cell) => cell.trim()),
		);

/** The seconds of `per hour`, `per 5 minutes` and `per minute`. */
function secondsOf(period: string): number {
	const [, count = '1', unit] = /per (?:(\d+) )?(minute|hour)s?$/.exec(period) ?? [];
	return Number(count) * (unit === 'hour' ? 3600 : 60);
}

/** The windows of 8.1 by path, whose last segment may be `*`; null where there is no limit. */
export const CATEGORY_WINDOWS: Readonly<Record<string, Window | null>> = Object.fromEntries(
	rowsOf(CATEGORIES).flatMap(([paths = '', limit = '', period = '']) =>
		paths.split(', ').map((path) => [path, limit === 'none' ? null : { max: Number.parseInt(limit, 10), seconds: secondsOf(period) }]),
	),
);

/** The windows of 8.2 by method and path. */
export const ROUTE_WINDOWS: Readonly<Record<string, Window>> = Object.fromEntries(
	rowsOf(ROUTES).map(([endpoint = '', limit = '']) => [
		endpoint.replace(/ \(.*\)$/, ''),
		{ max: Number.parseInt(limit, 10), seconds: secondsOf(limit) },
	]),
);
