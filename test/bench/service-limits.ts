// Limits of a service under measurement, which no round reaches.

import type { LimitTable } from '../../core/limits/table.ts';

const wide = { max: 1_000_000_000, seconds: 60 };

/** With `LIMITS=none` gateways have no limits. */
export const WIDE_LIMITS: LimitTable = {
	global: wide,
	categories: { health: null },
	invoke: wide,
	gateways: process.env['LIMITS'] === 'none' ? null : wide,
	routes: {},
};
