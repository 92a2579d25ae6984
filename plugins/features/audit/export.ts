// Exports the audit log, and shows the end of its hash chain, which may be noted down elsewhere.

import type { ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type AuditFilter,
	type AuditRow,
	type Core,
	EXPORT_FORMATS,
	EXPORT_TYPES,
	type ExportFormat,
	exportFormat,
	exportRows,
	grouped,
	operation,
	organizationOf,
	type Page,
	shape,
} from '../../../core/features.ts';
import { FILTERS, LINK } from './present.ts';

/** The most entries of an export. */
const EXPORTED = 100_000;

/** Shows an entry in columns. */
function showEntry({ actor, link, ...entry }: AuditRow) {
	const { userId = null, email = null, accessKeyId = null, address = null, userAgent = null, requestId = null } = actor ?? {};
	const { position = null, hash = null } = link ?? {};
	return { ...entry, userId, email, accessKeyId, address, userAgent, requestId, position, hash };
}

const COLUMNS = [
	...(['at', 'action', 'resourceType', 'resourceId', 'resourceName', 'userId', 'email', 'accessKeyId', 'address', 'userAgent'] as const),
	...(['requestId', 'changes', 'id', 'position', 'hash'] as const),
];

export const exportEntries = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/audit-log/export',
		id: 'exportAuditEntries',
		summary: `Exports the audit log, the newest first, up to ${grouped(EXPORTED)} entries.`,
		description: EXPORT_FORMATS,
		need: 'audit:read',
		query: Joi.object({ ...FILTERS, format: exportFormat }),
		bare: true,
		produces: EXPORT_TYPES,
		answer: Joi.string(),
		slow: true,
		handler: async (request) => {
			// The query has passed its schema.
			const { format, ...filter } = request.query as unknown as AuditFilter & { format: ExportFormat };
			const { id } = organizationOf(request);
			const read = (asked: Page) => core.store.audit.list(id, asked, filter);
			const exported = { name: 'audit-log', format, columns: COLUMNS, most: EXPORTED, account: await core.accountOf(id) };
			return exportRows(request, { ...exported, read, show: showEntry });
		},
	});

export const showHead = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/audit-log/head',
		id: 'getAuditHead',
		summary: 'Shows the end of the hash chain of the audit log.',
		description:
			'Note it down where nobody who runs the service can change it: `npm run verify-audit -- --expect <position>:<hash> <organization>` tells ' +
			'later whether the log up to there is still the same.',
		need: 'audit:read',
		answer: shape({ head: LINK.allow(null).description('The last link; null without any.') }),
		handler: async (request) => ({ head: await core.store.auditChain.head(organizationOf(request).id) }),
	});
