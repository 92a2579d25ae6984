// The rules of an organization: list, create, show, change, remove.

import { randomUUID } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import {
	type AlertRuleRow,
	type Core,
	expectedVersion,
	filterOf,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	requirePermission,
	shape,
	showVersion,
	storeOf,
	type TextFilter,
	uuid,
	words,
} from '../../../core/features.ts';
import { assertFits, CREATE, MOST_RULES, newSecret, presentRule, presentSecret, RULE, sealed, UPDATE, WITH_SECRET } from './fields.ts';

export const ruleRoutes = (core: Core): ServerRoute[] => [
	listRules(core),
	createRule(core),
	getRule(core),
	updateRule(core),
	deleteRule(core),
];

/** Finds the rule that a path names. @throws not_found */
export async function findRule(request: Request, { store }: Core): Promise<AlertRuleRow> {
	const row = await store.alerts.get(organizationOf(request).id, String(request.params['alertId']));
	if (!row) throw notFound('Alert rule');
	return row;
}

const listRules = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/alerts',
		id: 'listAlertRules',
		summary: 'Lists the alert rules of the organization.',
		need: 'analytics:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { q: words } }),
		answer: page('alertRules', RULE),
		handler: async (request) => {
			const { id } = organizationOf(request);
			const { items, nextCursor } = await core.store.alerts.list(id, pageOf(request), filterOf<TextFilter>(request));
			return { alertRules: items.map((row) => presentRule(row, core)), nextCursor };
		},
	});

const createRule = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/alerts',
		id: 'createAlertRule',
		summary: 'Adds an alert rule, and shows the secret of its webhook this once.',
		description:
			'A message is a POST signed by Standard Webhooks: `alert.opened` when the rule finds something, once, and `alert.recovered` when it is over. ' +
			'It is repeated for hours until the receiver takes it. Rules are looked at each minute. ' +
			'The caller needs `analytics:read`, too, since the messages tell what is measured.',
		need: 'gateway:write',
		body: CREATE,
		answer: WITH_SECRET,
		status: 201,
		errors: ['conflict', 'egress_refused'],
		handler: (request) => create(request, core),
	});

const getRule = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/alerts/{alertId}',
		id: 'getAlertRule',
		summary: 'Shows an alert rule, without its secret.',
		need: 'analytics:read',
		answer: RULE,
		versioned: true,
		handler: async (request) => show(request, await findRule(request, core), core),
	});

const updateRule = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/alerts/{alertId}',
		id: 'updateAlertRule',
		summary: 'Changes the given fields of an alert rule.',
		description: 'A rule that is switched off tells that what it found is over, and nothing more. The caller needs `analytics:read`, too.',
		need: 'gateway:write',
		body: UPDATE,
		answer: RULE,
		errors: ['egress_refused'],
		versioned: true,
		handler: async (request) => {
			requirePermission(request, 'analytics:read');
			const before = await findRule(request, core);
			// The body has passed UPDATE.
			const { url, ...change } = request.payload as Partial<
				Pick<AlertRuleRow, 'name' | 'bound' | 'windowMinutes' | 'minCalls' | 'url' | 'status'>
			>;
			assertFits({ ...before, ...change });
			if (url !== undefined) await core.egress.check(url, '/url');
			const columns = { ...change, ...(url !== undefined && { url: sealed(before, url, core) }) };
			const row = await storeOf(request, core).alerts.update(before.organizationId, before.id, columns, expectedVersion(request));
			if (!row) throw notFound('Alert rule');
			return show(request, row, core);
		},
	});

const deleteRule = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/alerts/{alertId}',
		id: 'deleteAlertRule',
		summary: 'Removes an alert rule; nothing more is told of it.',
		need: 'gateway:write',
		answer: shape({ id: uuid }),
		versioned: true,
		handler: async (request) => {
			const { organizationId, id } = await findRule(request, core);
			if (!(await storeOf(request, core).alerts.remove(organizationId, id, expectedVersion(request)))) throw notFound('Alert rule');
			return { id };
		},
	});

type RuleBody = Pick<AlertRuleRow, 'name' | 'kind' | 'windowMinutes' | 'minCalls' | 'url'> &
	Partial<Pick<AlertRuleRow, 'toolId' | 'apiId' | 'bound'>>;

async function create(request: Request, core: Core) {
	requirePermission(request, 'analytics:read');
	const organizationId = organizationOf(request).id;
	// The body has passed CREATE.
	const { url, toolId = null, apiId = null, bound = null, ...given } = request.payload as RuleBody;
	assertFits({ ...given, toolId, apiId, bound });
	await core.egress.check(url, '/url');
	const [id, secret] = [randomUUID(), newSecret()];
	const place = { organizationId, id };
	const row = { ...given, toolId, apiId, bound, url: sealed(place, url, core), secret: sealed(place, secret, core) };
	const made = await storeOf(request, core).alerts.create(organizationId, id, row, MOST_RULES);
	if (!made) throw notFound(toolId === null ? 'API' : 'Tool');
	return presentSecret(made, secret, core);
}

function show(request: Request, row: AlertRuleRow, core: Core) {
	showVersion(request, row.version);
	return presentRule(row, core);
}
