// Starts the service like `npm start` in a process of the benchmark, with limits that no round reaches.

import { loadConfig } from '../../core/config/config.ts';
import { createLog } from '../../core/config/log.ts';
import type { LimitTable } from '../../core/limits/table.ts';
import { startService } from '../../core/main.ts';
import { announce } from './subject.ts';

const wide = { max: 1_000_000_000, seconds: 60 };
/** With `LIMITS=none` gateways have no limits. */
const gateways = process.env['LIMITS'] === 'none' ? null : wide;
const limits: LimitTable = { global: wide, categories: { health: null }, invoke: wide, gateways, routes: {} };

const config = loadConfig();
const service = await startService(config, createLog(config.logLevel), { limits });
announce(service.url, service.stop);
