// The skills of a gateway: assign, list, remove.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { body, type Core, listQuery, notFound, operation, organizationOf, page, pageOf, storeOf } from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';
import { presentAssigned, REMOVED_SKILL_ASSIGNMENT, SKILL_ASSIGNMENT } from './present.ts';

const ASSIGN = body({ skillId: Joi.string().guid().required() }).example({ skillId: '5f0c6a52-8f0e-4d36-9c39-0d0c1a7e4f11' });

export const assignmentRoutes = (core: Core): ServerRoute[] => [listAssigned(core), assign(core), unassign(core)];

const listAssigned = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/gateways/{id}/skills',
		id: 'listGatewaySkills',
		summary: 'Lists the skills of a gateway.',
		need: 'gateway:read',
		query: listQuery(),
		answer: page('skills', SKILL_ASSIGNMENT),
		handler: async (request) => {
			const { id: organizationId } = organizationOf(request);
			const gateway = await core.store.gateways.get(organizationId, String(request.params['id']));
			if (!gateway) throw notFound('Gateway');
			const { items, nextCursor } = await core.store.skills.ofGateway(organizationId, gateway.id, pageOf(request));
			return { skills: items.map(presentAssigned), nextCursor };
		},
	});

const assign = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/gateways/{id}/skills',
		id: 'assignSkill',
		summary: 'Assigns a skill to a gateway of any type; an existing assignment stays as it is.',
		need: 'gateway:write',
		body: ASSIGN,
		answer: SKILL_ASSIGNMENT,
		status: 201,
		errors: ['conflict'],
		idempotent: true,
		handler: async (request) => {
			// The body has passed ASSIGN.
			const { skillId } = request.payload as { skillId: string };
			const { skills } = storeOf(request, core);
			return presentAssigned(await skills.assign(organizationOf(request).id, String(request.params['id']), skillId, BOUNDS));
		},
	});

const unassign = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/gateways/{id}/skills/{skillId}',
		id: 'unassignSkill',
		summary: 'Removes a skill from a gateway; `skillId` may be a `gatewaySkillId` too.',
		need: 'gateway:write',
		answer: REMOVED_SKILL_ASSIGNMENT,
		handler: async (request) => {
			const { id, skillId } = request.params as { id: string; skillId: string };
			const assigned = await storeOf(request, core).skills.unassign(organizationOf(request).id, id, skillId);
			if (!assigned) throw notFound('Skill of the gateway');
			return { id: assigned.assignment.id, ...presentAssigned(assigned) };
		},
	});
