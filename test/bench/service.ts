// The service as `npm start` runs it, in a process of the benchmark.

import { loadConfig } from '../../core/config.ts';
import { startService } from '../../core/main.ts';
import { announce } from './subject.ts';

const service = await startService(loadConfig());
announce(service.url, service.stop);
