// The part of the user: sees which program waits, chooses what its key may do, and allows or denies it.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	actorOf,
	body,
	type Core,
	GatewayError,
	notFound,
	operation,
	PERMISSIONS,
	type PermissionName,
	shape,
	timestamp,
	userIdOf,
	uuid,
} from '../../../../core/features.ts';
import { chosen, reachOf, type Scope, scope } from '../minting.ts';
import type { DeviceFlow, Waiting } from './flow.ts';

/** The tries at short codes, per address: RFC 8628 §5.1. */
const TRIES = { max: 20, seconds: 300 };

const WAITING = shape({
	program: Joi.string()
		.description('The name that the program gives itself, which nobody has checked.')
		.example('gatehouse-proxy on laptop'),
	expiresAt: timestamp,
	permissions: Joi.array().items(Joi.string()).description('The permissions that there are.'),
}).meta({ schema: 'DeviceLogin' });

const APPROVE = body({
	scope,
	permissions: chosen(PERMISSIONS),
	organizationId: uuid.description('The organization in which the program works at `/mcp`; for a key of one gateway, that of the gateway.'),
}).example({ scope: { type: 'account' }, permissions: ['tools:read', 'tools:execute'] });

const DECIDED = shape({ decision: Joi.string().valid('approved', 'denied') });

interface Approval {
	scope: Scope;
	permissions?: PermissionName[];
	organizationId?: string;
}

export const decisionRoutes = (core: Core, flow: DeviceFlow): ServerRoute[] => [
	operation({
		method: 'GET',
		path: '/device/logins/{userCode}',
		id: 'getDeviceLogin',
		summary: 'Shows the program that waits for a login with this code.',
		need: 'login',
		addressLimit: TRIES,
		answer: WAITING,
		handler: async (request) => {
			const { program, expiresAt } = await waitingIn(request, flow);
			return { program, expiresAt: new Date(expiresAt).toISOString(), permissions: core.permissions.names };
		},
	}),
	operation({
		method: 'POST',
		path: '/device/logins/{userCode}/approve',
		id: 'approveDeviceLogin',
		summary: 'Gives the program an access key of the user.',
		need: 'login',
		addressLimit: TRIES,
		body: APPROVE.fork('permissions', () => chosen(core.permissions.names)),
		answer: DECIDED,
		errors: ['not_found', 'conflict'],
		handler: (request) => approve(request, core, flow),
	}),
	operation({
		method: 'POST',
		path: '/device/logins/{userCode}/deny',
		id: 'denyDeviceLogin',
		summary: 'Denies the program a login.',
		need: 'login',
		addressLimit: TRIES,
		answer: DECIDED,
		errors: ['not_found', 'conflict'],
		handler: async (request) => {
			const waiting = await waitingIn(request, flow);
			if (!(await flow.decide(waiting, null))) throw decidedBefore();
			return { decision: 'denied' };
		},
	}),
];

async function approve(request: Request, core: Core, flow: DeviceFlow) {
	const waiting = await waitingIn(request, flow);
	// The body has passed APPROVE.
	const { scope: wanted, permissions = null, organizationId } = request.payload as Approval;
	const userId = userIdOf(request);
	const reach = await reachOf(wanted, userId, core);
	const meant = reach.type === 'account' ? (organizationId?.toLowerCase() ?? null) : reach.organizationId;
	const memberships = await core.store.accounts.memberships(userId);
	const organization = memberships.find((one) => one.organization.id === meant)?.organization;
	if (meant !== null && !organization) throw notFound('Organization');
	const grant = {
		...{ userId, email: actorOf(request).email, name: waiting.program, reach, permissions },
		organization: organization ? { id: organization.id, slug: organization.slug, name: organization.name } : null,
	};
	if (!(await flow.decide(waiting, grant))) throw decidedBefore();
	return { decision: 'approved' };
}

/** @throws not_found */
async function waitingIn(request: Request, flow: DeviceFlow): Promise<Waiting> {
	const waiting = await flow.find(String(request.params['userCode']));
	if (waiting) return waiting;
	throw notFound('Login with this code');
}

const decidedBefore = (): GatewayError => new GatewayError('conflict', 'This login was decided before, or is over.');
