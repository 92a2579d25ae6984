// Lists the audit log of an organization: who changed what, when and from where.

import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AuditFilter,
	type Core,
	type Feature,
	filterOf,
	listQuery,
	operation,
	organizationOf,
	page,
	pageOf,
} from '../../../core/features.ts';
import { exportEntries, showHead } from './export.ts';
import { ENTRY, FILTERS, presentEntry } from './present.ts';

const QUERY = listQuery({ filters: FILTERS }).fork('sort', (sort) =>
	sort.description('The order, descending with a `-` before the field. When absent: the newest first.'),
);

export default {
	kind: 'feature',
	api: 1,
	name: 'audit',
	summary: 'The audit log: who changed what, when and from where.',
	config: Joi.object({}),
	segments: ['audit-log'],
	register(server: Server, _config, core) {
		server.route([
			operation({
				method: 'GET',
				path: '/audit-log',
				id: 'listAuditEntries',
				summary: 'Lists who changed what in the organization, the newest first unless `sort` says otherwise.',
				need: 'audit:read',
				query: QUERY,
				answer: page('entries', ENTRY),
				handler: (request) => list(request, core),
			}),
			exportEntries(core),
			showHead(core),
		]);
	},
} satisfies Feature;

async function list(request: Request, { store }: Core) {
	// The query has passed QUERY, which converts `since` and `until` to dates.
	const filter = filterOf<AuditFilter>(request);
	const { items, nextCursor } = await store.audit.list(organizationOf(request).id, pageOf(request), filter);
	return { entries: items.map(presentEntry), nextCursor };
}
