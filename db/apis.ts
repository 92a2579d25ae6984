// Connected APIs with their credentials, schemas and operations. Imports are written by `imports/imports.ts`.

import { type Attributes, literal, type WhereOptions } from 'sequelize';
import type { ApiFilter, ApiRow, Apis, OperationRow } from '../core/store/store.ts';
import { pick } from './columns.ts';
import type { Database } from './connection.ts';
import { createCredentials } from './credentials.ts';
import { beginImport, toSchema } from './imports/imports.ts';
import { operationsWhere } from './imports/operations.ts';
import { API, type Api, type ApiOperation, OPERATION } from './models/api.ts';
import type { Models } from './models/index.ts';
import { listPage, own, uuid } from './pages.ts';
import { type Removal, remove } from './removal.ts';
import { rows } from './rows.ts';
import { search } from './search.ts';
import { byNameOr } from './sorts.ts';
import { storable } from './text.ts';
import { assertVersion } from './versions.ts';

const OF_API = 'WHERE organization_id = $1 AND api_id = $2';
const REMOVAL: Removal = {
	table: 'apis',
	dependants: {
		tools: `tools ${OF_API}`,
		assignments: `gateway_tools WHERE organization_id = $1 AND tool_id IN (SELECT id FROM tools ${OF_API})`,
		operations: `operations ${OF_API}`,
		schemas: `api_schemas ${OF_API}`,
		credentials: `api_credentials ${OF_API}`,
	},
	users: ['tools', 'assignments'],
};

type ApiChange = Parameters<Apis['update']>[2];

const SORTS = byNameOr<Api>('name', ({ name }) => name);

// Credentials go with the origin to which they are bound: none is ever sent to the next one.
const UPDATE = `
WITH changed AS (
	UPDATE apis SET name = coalesce($3, name), base_url = coalesce($4, base_url),
		description = CASE WHEN $5 THEN $6 ELSE description END, status = coalesce($7, status),
		outbound = CASE WHEN $8 THEN $9::json ELSE outbound END,
		pass_through = CASE WHEN $12 THEN $13::json ELSE pass_through END
	WHERE organization_id = $1 AND id = $2 AND ($11::integer IS NULL OR version = $11)
	RETURNING *
), dropped AS (
	DELETE FROM api_credentials WHERE organization_id = $1 AND api_id IN (SELECT id FROM changed) AND origin <> $10::text
)
SELECT id, organization_id AS "organizationId", name, type, base_url AS "baseUrl", description, status, outbound,
	coalesce(pass_through, '[]') AS "passThrough", version, created_at AS "createdAt", updated_at AS "updatedAt"
FROM changed`;

export function createApis(database: Database, models: Models): Apis {
	const { Api, ApiSchema, ApiOperation } = models;
	const get = async (organizationId: string, id: string): Promise<ApiRow | null> => {
		const api = await Api.findOne({ where: own(organizationId, id), raw: true });
		return api && toApi(api);
	};
	return {
		list: (organizationId, page, filter = {}) => listPage(Api, { where: apisWhere(organizationId, filter), page, sorts: SORTS }, toApi),
		get,
		async create(organizationId, api) {
			const { passThrough, ...given } = storable(api);
			const passed = passThrough?.length ? passThrough : null;
			const values = { ...given, passThrough: passed, organizationId: uuid(organizationId) };
			return toApi(await database.write((transaction) => Api.create(values, { transaction })));
		},
		async update(organizationId, id, change, ifVersion) {
			const changed = await update(database, own(organizationId, id), change, ifVersion);
			return changed ?? assertVersion(await get(organizationId, id), ifVersion);
		},
		remove: (organizationId, id, onlyIfUnused, ifVersion) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused, ifVersion }),
		...createCredentials(database, models),
		beginImport: (organizationId, apiId) => beginImport(database, models, ofApi(organizationId, apiId)),
		schemas: (organizationId, apiId, page) =>
			listPage(ApiSchema, { where: ofApi(organizationId, apiId), page, attributes: countsOnly() }, toSchema),
		async schema(organizationId, apiId, id) {
			const schema = await ApiSchema.findOne({ where: { ...ofApi(organizationId, apiId), id: uuid(id) }, raw: true });
			return schema && toSchema(schema);
		},
		operations: (organizationId, apiId, page, filter = {}) =>
			listPage(ApiOperation, { where: operationsWhere(organizationId, apiId, filter), page }, toOperation),
		async wholeParameters(organizationId, operationId) {
			const bind = [uuid(organizationId), uuid(operationId)];
			const [row] = await rows<{ whole: string | null }>(database.ordinary, WHOLE, bind);
			return row?.whole ?? null;
		},
		countOperations: (organizationId, apiId, filter = {}) => ApiOperation.count({ where: operationsWhere(organizationId, apiId, filter) }),
	};
}

// As text: who asks for it does not read it, but hands it on.
const WHOLE = 'SELECT whole_parameters::text AS whole FROM operations WHERE organization_id = $1 AND id = $2';

// A hundred rows with every operation that changed would block the event loop while they are read and written.
const withoutOperations = (column: 'report' | 'changes'): ReturnType<typeof literal> =>
	literal(
		`CASE WHEN ${column} IS NOT NULL THEN
			coalesce((SELECT json_object_agg(key, value) FROM json_each(${column}) WHERE key <> 'operations'), '{}') END`,
	);
/** Made afresh for each query: Sequelize writes into it. */
const countsOnly = () => {
	const shortened = (['report', 'changes'] as const).map(
		(column) => [withoutOperations(column), column] as [ReturnType<typeof literal>, string],
	);
	return { exclude: ['report', 'changes'], include: shortened };
};

const ofApi = (organizationId: string, apiId: string): { organizationId: string; apiId: string } => ({
	organizationId: uuid(organizationId),
	apiId: uuid(apiId),
});

/** As it is after the change; null when there is no such API in that version. */
async function update(
	database: Database,
	{ organizationId, id }: { organizationId: string; id: string },
	change: ApiChange,
	ifVersion: number | undefined,
): Promise<ApiRow | null> {
	const { name, baseUrl, description, status, outbound, passThrough } = storable(change);
	const origin = baseUrl === undefined ? null : (URL.parse(baseUrl)?.origin ?? baseUrl);
	const values = [name ?? null, baseUrl ?? null, description !== undefined, description ?? null, status ?? null];
	const limits = [outbound !== undefined, outbound ? JSON.stringify(outbound) : null];
	const passed = [passThrough !== undefined, passThrough?.length ? JSON.stringify(passThrough) : null];
	const bind = [organizationId, id, ...values, ...limits, origin, ifVersion ?? null, ...passed];
	const [changed] = await database.write((transaction) => rows<ApiRow>(database.ordinary, UPDATE, bind, transaction));
	return changed ?? null;
}

const apisWhere = (organizationId: string, { q, type, status }: ApiFilter): WhereOptions<Api> => ({
	organizationId: uuid(organizationId),
	...(type !== undefined && { type }),
	...(status !== undefined && { status }),
	...search(q, ['name', 'description']),
});

export const toApi = (row: Attributes<Api>): ApiRow => ({ ...pick(row, API), passThrough: row.passThrough ?? [] });

const toOperation = (row: Attributes<ApiOperation>): OperationRow => pick(row, OPERATION);
