// Tools: made by hand, or generated from an API's operations.

import { type Attributes, QueryTypes, type Sequelize, type Transaction, type WhereOptions } from 'sequelize';
import type { ToolDraft } from '../core/contracts.ts';
import type { ToolChange, ToolFilter, ToolRow, Tools } from '../core/store.ts';
import { batches, document } from './batches.ts';
import type { Database } from './connection.ts';
import { lockApi } from './imports.ts';
import type { Models } from './models/index.ts';
import type { Tool } from './models/tool.ts';
import { listPage, own, uuid } from './pages.ts';
import { type Removal, remove } from './removal.ts';
import { search } from './search.ts';
import { byNameOr } from './sorts.ts';
import { storable, text } from './text.ts';
import { assertVersion, ofVersion } from './versions.ts';

type Drafts = Parameters<Tools['generate']>[2];
type Generated = Awaited<ReturnType<Tools['generate']>>;

const REMOVAL: Removal = {
	table: 'tools',
	dependants: { assignments: 'gateway_tools WHERE organization_id = $1 AND tool_id = $2' },
	users: ['assignments'],
};

const NAME = 'coalesce(own_name, imported_name)';
/** As users see them. */
const TEXTS = [NAME, 'coalesce(own_description, imported_description)'];
export const TOOL_SORTS = byNameOr<Tool>(NAME, nameOf);

/** Users' own, else the imported one. A check of the table holds that one of the two is there. */
function nameOf({ ownName, importedName }: Attributes<Tool>): string {
	return ownName ?? importedName ?? '';
}

export const searchTools = (q: string | undefined) => search(q, TEXTS);

// Made, brought up to date, or left alone. The imported name stays as it was first, and users' own layer is not touched.
const GENERATE = `
WITH draft AS (
	SELECT o.id AS operation_id, o.seq, d.executor, d.name, d.description, d.parameters::json, d.output_schema::json,
		d.annotations::json, d.execution_config::json
	FROM json_to_recordset($3::json) AS d (
		operation_id uuid, executor text, name text, description text, parameters text, output_schema text, annotations text,
		execution_config text
	)
	JOIN operations o ON o.organization_id = $1 AND o.api_id = $2 AND o.id = d.operation_id AND o.status = 'active'
), written AS (
	INSERT INTO tools (organization_id, api_id, operation_id, type, executor, imported_name, imported_description, parameters,
		output_schema, annotations, execution_config)
	SELECT $1, $2, operation_id, 'api', executor, name, description, parameters, output_schema, annotations, execution_config
	FROM draft ORDER BY seq
	ON CONFLICT ON CONSTRAINT tools_operation DO UPDATE SET
		executor = excluded.executor, imported_description = excluded.imported_description, parameters = excluded.parameters,
		output_schema = excluded.output_schema, annotations = excluded.annotations, execution_config = excluded.execution_config
	WHERE (tools.executor, tools.imported_description, tools.parameters::text, tools.output_schema::text, tools.annotations::text,
		tools.execution_config::text)
	IS DISTINCT FROM (excluded.executor, excluded.imported_description, excluded.parameters::text, excluded.output_schema::text,
		excluded.annotations::text, excluded.execution_config::text)
	RETURNING xmax = 0 AS is_new
)
SELECT (SELECT count(*) FROM draft)::int AS total, (count(*) FILTER (WHERE is_new))::int AS created,
	(count(*) FILTER (WHERE NOT is_new))::int AS updated
FROM written`;

export function createTools(database: Database, { Tool }: Models): Tools {
	const get = async (organizationId: string, id: string): Promise<ToolRow | null> => {
		const tool = await Tool.findOne({ where: own(organizationId, id), raw: true });
		return tool && toTool(tool);
	};
	return {
		list: (organizationId, page, filter = {}) =>
			listPage(Tool, { where: toWhere(organizationId, filter), page, sorts: TOOL_SORTS }, toTool),
		get,
		async create(organizationId, id, { name, description, ...rest }) {
			storable({ name, description, ...rest });
			const tool = { ...own(organizationId, id), ownName: name, ownDescription: description, ...rest };
			return toTool(await database.write((transaction) => Tool.create(tool, { transaction })));
		},
		async update(organizationId, id, change, ifVersion) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, id), ifVersion);
			const columns = toColumns(storable(change));
			const where = { ...own(organizationId, id), ...ofVersion(ifVersion) };
			const [, [tool]] = await database.write((transaction) => Tool.update(columns, { where, returning: true, transaction }));
			return tool ? toTool(tool) : assertVersion(await get(organizationId, id), ifVersion);
		},
		remove: (organizationId, id, onlyIfUnused, ifVersion) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused, ifVersion }),
		generate: (organizationId, apiId, drafts) =>
			database.transact((transaction) =>
				generate(database.bulk, { organizationId: uuid(organizationId), apiId: uuid(apiId) }, drafts, transaction),
			),
	};
}

async function generate(
	bulk: Sequelize,
	of: { organizationId: string; apiId: string },
	drafts: Drafts,
	transaction: Transaction,
): Promise<Generated> {
	await lockApi(bulk, of.apiId, transaction);
	const sum: Generated = { created: 0, updated: 0, unchanged: 0 };
	for (const batch of batches(drafts)) {
		const bind = [of.organizationId, of.apiId, JSON.stringify(batch.map(toDraftRow))];
		const counts = await bulk.query<{ total: number; created: number; updated: number }>(GENERATE, {
			bind,
			type: QueryTypes.SELECT,
			transaction,
		});
		for (const { total, created, updated } of counts) {
			sum.created += created;
			sum.updated += updated;
			sum.unchanged += total - created - updated;
		}
	}
	return sum;
}

const toDraftRow = ({ operationId, tool }: { operationId: string; tool: ToolDraft }): object => ({
	operation_id: uuid(operationId),
	executor: text(tool.executor),
	name: text(tool.name),
	description: text(tool.description),
	parameters: document(tool.parameters),
	output_schema: tool.outputSchema && document(tool.outputSchema),
	annotations: document(tool.annotations),
	execution_config: document(tool.executionConfig),
});

function toWhere(organizationId: string, { q, apiId, type, status }: ToolFilter): WhereOptions<Tool> {
	return {
		organizationId: uuid(organizationId),
		...(apiId !== undefined && { apiId: uuid(apiId) }),
		...(type !== undefined && { type }),
		...(status !== undefined && (status === 'removed' ? { removed: true } : { removed: false, status })),
		...searchTools(q),
	};
}

const toColumns = ({ name, description, ...rest }: ToolChange): Partial<Attributes<Tool>> => ({
	...rest,
	...(name !== undefined && { ownName: name }),
	...(description !== undefined && { ownDescription: description }),
});

export const toTool = (row: Attributes<Tool>): ToolRow => ({
	id: row.id,
	organizationId: row.organizationId,
	name: nameOf(row),
	description: row.ownDescription ?? row.importedDescription ?? '',
	type: row.type,
	executor: row.executor,
	apiId: row.apiId,
	operationId: row.operationId,
	parameters: row.parameters,
	outputSchema: row.outputSchema,
	annotations: row.annotations,
	code: row.code,
	executionConfig: row.executionConfig,
	status: row.removed ? 'removed' : row.status,
	version: row.version,
	createdAt: row.createdAt,
	updatedAt: row.updatedAt,
});
