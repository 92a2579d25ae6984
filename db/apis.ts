// Connected APIs with their credentials, schemas and operations. `imports/imports.ts` writes imports.

import { type Attributes, literal, type Transaction, type WhereOptions } from 'sequelize';
import type { ApiFilter, ApiRow, Apis, OperationRow } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { createCredentials } from './credentials.ts';
import { beginImport, toSchema } from './imports/imports.ts';
import { operationsWhere } from './imports/operations.ts';
import { readSource } from './imports/sources.ts';
import { API, type Api, type ApiOperation, OPERATION } from './models/api.ts';
import { pick } from './models/columns.ts';
import type { Models } from './models/index.ts';
import { listPage, own, uuid } from './pages.ts';
import { type Removal, remove } from './removal.ts';
import { rows } from './rows.ts';
import { search } from './search.ts';
import { byNameOr } from './sorts.ts';
import { storable } from './text.ts';
import { assertVersion, ofVersion } from './versions.ts';

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

const SORTS = byNameOr<Api>('name', ({ name }) => name);

// Credentials are dropped with the origin to which they are bound: none is ever sent to the next one.
const DROP = 'DELETE FROM api_credentials WHERE organization_id = $1 AND api_id = $2 AND origin <> $3';

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
			const values = { ...toColumns(storable(api)), organizationId: uuid(organizationId) };
			return toApi(await database.write((transaction) => Api.create(values, { transaction })));
		},
		async update(organizationId, id, change, ifVersion) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, id), ifVersion);
			const [columns, where] = [toColumns(storable(change)), { ...own(organizationId, id), ...ofVersion(ifVersion) }];
			const changed = await database.write(async (transaction) => {
				const [, [api]] = await Api.update(columns, { where, returning: true, transaction });
				if (api && change.baseUrl !== undefined) await dropOthers(database, api, transaction);
				return api && toApi(api);
			});
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
		source: (organizationId, apiId) => readSource(database.ordinary, ofApi(organizationId, apiId)),
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

// Returned as text, since the caller does not read it but passes it on.
const WHOLE = 'SELECT whole_parameters::text AS whole FROM operations WHERE organization_id = $1 AND id = $2';

// A hundred rows with every changed operation would block the event loop while they are read and written.
const withoutOperations = (column: 'report' | 'changes'): ReturnType<typeof literal> =>
	literal(
		`CASE WHEN ${column} IS NOT NULL THEN
			coalesce((SELECT json_object_agg(key, value) FROM json_each(${column}) WHERE key <> 'operations'), '{}') END`,
	);
/** A fresh object for each query, since Sequelize writes into it. */
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

/** Drops the credentials of origins that the API no longer has. */
async function dropOthers({ ordinary }: Database, { organizationId, id, baseUrl }: Api, transaction: Transaction): Promise<void> {
	await ordinary.query(DROP, { bind: [organizationId, id, URL.parse(baseUrl)?.origin ?? baseUrl], transaction });
}

/** An empty list of headers is null in the table. */
const toColumns = <C extends { passThrough?: ApiRow['passThrough'] }>({ passThrough, ...rest }: C) => ({
	...rest,
	...(passThrough && { passThrough: passThrough.length > 0 ? passThrough : null }),
});

const apisWhere = (organizationId: string, { q, type, status }: ApiFilter): WhereOptions<Api> => ({
	organizationId: uuid(organizationId),
	...(type !== undefined && { type }),
	...(status !== undefined && { status }),
	...search(q, ['name', 'description']),
});

export const toApi = (row: Attributes<Api>): ApiRow => ({ ...pick(row, API), passThrough: row.passThrough ?? [] });

const toOperation = (row: Attributes<ApiOperation>): OperationRow => pick(row, OPERATION);
