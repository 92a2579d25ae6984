// Starts the service like `npm start` in a process of the benchmark, with limits that no round reaches.

import { loadConfig } from '../../core/config/config.ts';
import { createLog } from '../../core/config/log.ts';
import { startService } from '../../core/service.ts';
import { WIDE_LIMITS } from './service-limits.ts';
import { announce } from './subject.ts';

const config = loadConfig();
const service = await startService(config, createLog(config.logLevel), { limits: WIDE_LIMITS });
announce(service.url, service.stop);
