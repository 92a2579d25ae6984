// The routes of logins by a device code: those of the program, those of its user, and the page.

import type { ServerRoute } from '@hapi/hapi';
import type { Core } from '../../../../core/features.ts';
import { decisionRoutes } from './decisions.ts';
import { DeviceFlow } from './flow.ts';
import { pageRoutes } from './page.ts';
import { programRoutes } from './programs.ts';

export function deviceRoutes(core: Core): ServerRoute[] {
	const flow = new DeviceFlow(core.shared.keyValue('device-login:'));
	return [...programRoutes(core, flow), ...decisionRoutes(core, flow), ...pageRoutes()];
}
