// Tools: created by hand, or generated from an API's operations.

import type { Attributes, Transaction, WhereOptions } from 'sequelize';
import type { JsonSchema } from '../core/contract/nouns.ts';
import type { AgentRow, InputSchemaOf, ToolChange, ToolFilter, ToolRow, Tools } from '../core/store/store.ts';
import type { Database } from './connection.ts';
import { writeDrafts } from './imports/drafts.ts';
import { inTurn, lockApi, REQUEST_WAIT_MS, WORK_WAIT_MS } from './imports/turns.ts';
import { pick } from './models/columns.ts';
import type { Models } from './models/index.ts';
import { TOOL, type Tool } from './models/tool.ts';
import { listPage, own, uuid } from './pages.ts';
import { type Removal, remove } from './removal.ts';
import { rows } from './rows.ts';
import { search } from './search.ts';
import { byNameOr } from './sorts.ts';
import { storable } from './text.ts';
import { assertVersion, ofVersion } from './versions.ts';

const REMOVAL: Removal = {
	table: 'tools',
	dependants: { assignments: 'gateway_tools WHERE organization_id = $1 AND tool_id = $2' },
	users: ['assignments'],
};

/** Before the tool's own row, as whoever changes an agent locks that before its tools. */
const LOCK_FOLLOWED = 'SELECT pipeline FROM agents WHERE organization_id = $1 AND id = $2 FOR SHARE';

const NAME = 'coalesce(own_name, imported_name)';
/** The texts that users see. */
const TEXTS = [NAME, 'coalesce(own_description, imported_description)'];
export const TOOL_SORTS = byNameOr<Tool>(NAME, nameOf);

/** Returns the users' own name, else the imported one. A check of the table ensures that there is one. */
function nameOf({ ownName, importedName }: Attributes<Tool>): string {
	return ownName ?? importedName ?? '';
}

/** Returns the imported texts: a tool of an API was created with both. */
const importedOf = ({ importedName, importedDescription }: Attributes<Tool>): ToolRow['imported'] =>
	importedName === null || importedDescription === null ? null : { name: importedName, description: importedDescription };

export const searchTools = (q: string | undefined) => search(q, TEXTS);

export function createTools(database: Database, { Tool }: Models): Tools {
	const get = async (organizationId: string, id: string): Promise<ToolRow | null> => {
		const tool = await Tool.findOne({ where: own(organizationId, id), raw: true });
		return tool && toTool(tool);
	};
	return {
		list: (organizationId, page, filter = {}) =>
			listPage(Tool, { where: toWhere(organizationId, filter), page, sorts: TOOL_SORTS }, toTool),
		get,
		async create(organizationId, id, { name, description, ...rest }, inputSchema) {
			storable({ name, description, ...rest });
			const tool = { ...own(organizationId, id), ownName: name, ownDescription: description, ...rest };
			return toTool(
				await database.write(async (transaction) => {
					const latest = await latestParameters(database, organizationId, tool, { inputSchema, transaction });
					return Tool.create({ ...tool, ...latest }, { transaction });
				}),
			);
		},
		async update(organizationId, id, change, ifVersion, inputSchema) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, id), ifVersion);
			const columns = toColumns(storable(change));
			const where = { ...own(organizationId, id), ...ofVersion(ifVersion) };
			const [, [tool]] = await database.write(async (transaction) => {
				const latest = await latestParameters(database, organizationId, change, { inputSchema, transaction });
				return Tool.update({ ...columns, ...latest }, { where, returning: true, transaction });
			});
			return tool ? toTool(tool) : assertVersion(await get(organizationId, id), ifVersion);
		},
		remove: (organizationId, id, onlyIfUnused, ifVersion) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused, ifVersion }),
		async flatOf(organizationId, apiId) {
			const where = { organizationId: uuid(organizationId), apiId: uuid(apiId), bodies: 'flat' as const };
			const flat = await Tool.findAll({ where, attributes: ['operationId'], raw: true });
			return new Set(flat.map(({ operationId }) => operationId ?? ''));
		},
		generate(organizationId, apiId, drafts, since) {
			const of = { organizationId: uuid(organizationId), apiId: uuid(apiId) };
			// The last part of an import waits as long as an import does.
			return inTurn(since ? WORK_WAIT_MS : REQUEST_WAIT_MS, () =>
				database.transact(async (transaction) => {
					if (!(await lockApi(database.bulk, of.apiId, transaction))) return null;
					return writeDrafts(database.bulk, of, drafts, { transaction, since });
				}),
			);
		},
	};
}

/** Returns the parameters that a tool which follows an agent has to have, and keeps the agent as it is until the transaction ends. */
async function latestParameters(
	{ ordinary }: Database,
	organizationId: string,
	{ followsAgent }: Pick<ToolChange, 'followsAgent'>,
	{ inputSchema, transaction }: { inputSchema: InputSchemaOf | undefined; transaction: Transaction },
): Promise<Pick<ToolChange, 'parameters'>> {
	if (!followsAgent || !inputSchema) return {};
	const [agent] = await rows<Pick<AgentRow, 'pipeline'>>(ordinary, LOCK_FOLLOWED, [uuid(organizationId), uuid(followsAgent)], transaction);
	return agent ? storable({ parameters: inputSchema(agent.pipeline) }) : {};
}

/** Gives the tools that follow an agent, which the transaction has changed, its input schema: those that have another. */
export async function tellFollowers(
	{ Tool }: Pick<Models, 'Tool'>,
	[organizationId, followsAgent]: readonly [organizationId: string, agentId: string],
	parameters: JsonSchema,
	transaction: Transaction,
): Promise<void> {
	const following = { organizationId, followsAgent };
	const found = await Tool.findAll({ where: following, attributes: ['id', 'parameters'], raw: true, transaction });
	const text = JSON.stringify(storable(parameters));
	const behind = found.filter((tool) => JSON.stringify(tool.parameters) !== text).map(({ id }) => id);
	if (behind.length > 0) await Tool.update({ parameters }, { where: { ...following, id: behind }, transaction });
}

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
	...pick(row, TOOL),
	name: nameOf(row),
	description: row.ownDescription ?? row.importedDescription ?? '',
	imported: importedOf(row),
	status: row.removed ? 'removed' : row.status,
});
