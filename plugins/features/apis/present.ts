// How connected APIs and what belongs to them are shown. Secrets never are.

import type { ApiRow, CredentialRow, OperationRow, SchemaRow } from '../../../core/index.ts';

export const presentApi = ({ id, name, type, baseUrl, description, status, createdAt, updatedAt }: ApiRow) => ({
	id,
	name,
	type,
	baseUrl,
	description,
	status,
	createdAt,
	updatedAt,
});

/** Bound to `origin`: sent nowhere else. */
export const presentCredential = ({ apiId, type, origin, updatedAt }: CredentialRow) => ({ apiId, type, origin, updatedAt });

export const presentSchema = ({
	id,
	apiId,
	format,
	title,
	version,
	servers,
	sourceUrl,
	sizeBytes,
	sha256,
	report,
	createdAt,
}: SchemaRow) => ({
	id,
	apiId,
	format,
	title,
	version,
	servers,
	sourceUrl,
	sizeBytes,
	sha256,
	report,
	createdAt,
});

export const presentOperation = (row: OperationRow) => ({
	id: row.id,
	apiId: row.apiId,
	key: row.key,
	operationId: row.operationId,
	name: row.name,
	description: row.description,
	method: row.method,
	path: row.path,
	tags: row.tags,
	deprecated: row.deprecated,
	parameters: row.parameters,
	outputSchema: row.outputSchema,
	outcome: row.outcome,
	reasons: row.reasons,
	status: row.status,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});
