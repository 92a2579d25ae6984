// The service as `npm start` runs it, in a process of the benchmark; its limits are so wide that no round meets them.

import { loadConfig } from '../../core/config/config.ts';
import { createLog } from '../../core/config/log.ts';
import type { LimitTable } from '../../core/limits/limits.ts';
import { startService } from '../../core/main.ts';
import { announce } from './subject.ts';

const wide = { max: 1_000_000_000, seconds: 60 };
/** `LIMITS=none`: gateways have none. */
const gateways = process.env['LIMITS'] === 'none' ? null : wide;
const limits: LimitTable = { global: wide, categories: { health: null }, invoke: wide, gateways, routes: {} };

const config = loadConfig();
const service = await startService(config, createLog(config.logLevel), { limits });
announce(service.url, service.stop);
