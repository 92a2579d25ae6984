// Messages of an alert rule: one that is a test, and another secret.

import type { ServerRoute } from '@hapi/hapi';
import { type Core, notFound, operation, requirePermission, shape, storeOf, uuid } from '../../../core/features.ts';
import { newSecret, presentSecret, sealed, WITH_SECRET } from './fields.ts';
import { findRule } from './rules.ts';

export const sendingRoutes = (core: Core): ServerRoute[] => [testRule(core), changeSecret(core)];

const testRule = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/alerts/{alertId}/test',
		id: 'testAlertRule',
		summary: 'Sends the receiver a message that says that it is a test.',
		need: 'gateway:write',
		addressLimit: { max: 10, seconds: 60 },
		answer: shape({ deliveryId: uuid.description('The webhook, which is sent like any other message of the rule.') }),
		errors: ['secret_unreadable', 'egress_refused'],
		handler: async (request) => ({ deliveryId: (await core.alerts.test(await findRule(request, core))).id }),
	});

const changeSecret = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/alerts/{alertId}/secret',
		id: 'changeAlertRuleSecret',
		summary: 'Replaces the secret of an alert rule at once, and shows the new one this once.',
		description: 'The caller needs `analytics:read`, too, since the answer shows the rule.',
		need: 'gateway:write',
		answer: WITH_SECRET,
		handler: async (request) => {
			requirePermission(request, 'analytics:read');
			const { organizationId, id } = await findRule(request, core);
			const secret = newSecret();
			const row = await storeOf(request, core).alerts.update(organizationId, id, { secret: sealed({ organizationId, id }, secret, core) });
			if (!row) throw notFound('Alert rule');
			return presentSecret(row, secret, core);
		},
	});
