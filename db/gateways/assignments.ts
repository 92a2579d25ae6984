// Tools in gateways.

import { createHash } from 'node:crypto';
import { type Attributes, literal, Op, type Sequelize, type Transaction } from 'sequelize';
import { notFound } from '../../core/contract/errors.ts';
import type { AssignmentChange, AssignmentRow, AssignmentSettings, Gateways, ToolRow } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { pick } from '../models/columns.ts';
import { ASSIGNMENT, type GatewayTool } from '../models/gateway.ts';
import type { Models } from '../models/index.ts';
import { bytesOf, listPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { storable } from '../text.ts';
import { searchTools, TOOL_SORTS, toTool } from '../tools.ts';

// A type alias, since Sequelize's conditions accept no interface, which could be extended.
export type OfGateway = {
	organizationId: string;
	gatewayId: string;
};

interface Candidate {
	id: string;
	name: string;
}

type Named = Pick<GatewayTool, 'toolId' | 'name'>;

/** The longest name that every transport accepts for a tool. */
const NAME_LENGTH = 64;
const SUFFIX_LENGTH = 9;

const LOCK_GATEWAY = 'SELECT id FROM gateways WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE';
const CANDIDATES = `
SELECT id, coalesce(own_name, imported_name) AS name FROM tools
WHERE organization_id = $1 AND id IN (SELECT json_array_elements_text($2::json)::uuid) FOR KEY SHARE`;
/** The parts of an assignment's tool that may be large. */
const TOOL_BYTES = `(SELECT ${['parameters', 'output_schema', 'execution_config', 'code'].map((column) => bytesOf(`t.${column}`)).join(' + ')}
	FROM tools t WHERE t.id = tool_id)`;
const INSERT = `
INSERT INTO gateway_tools (organization_id, gateway_id, tool_id, name)
SELECT $1, $2, tool_id, name FROM json_to_recordset($3::json) AS batch (tool_id uuid, name text, position integer)
ORDER BY position`;

type Assigning = Pick<Gateways, 'tools' | 'available' | 'assign' | 'unassign' | 'updateAssignment'>;

export function createAssignments(database: Database, models: Models): Assigning {
	const { ordinary, bulk } = database;
	const { GatewayTool, Tool } = models;
	return {
		async tools(organizationId, gatewayId, page) {
			const of = { where: ofGateway(organizationId, gatewayId), besideBytes: TOOL_BYTES };
			const assignments = await listPage(GatewayTool, { ...of, page }, toAssignment);
			return { items: await withTools(models, organizationId, assignments.items), nextCursor: assignments.nextCursor };
		},
		available(organizationId, gatewayId, page, { q } = {}) {
			const assigned = literal(`(SELECT tool_id FROM gateway_tools WHERE gateway_id = ${ordinary.escape(uuid(gatewayId))})`);
			const off = literal(`(SELECT id FROM apis WHERE organization_id = ${ordinary.escape(uuid(organizationId))} AND status = 'inactive')`);
			const apiId = { [Op.or]: [null, { [Op.notIn]: off }] };
			const where = { organizationId: uuid(organizationId), status: 'active', removed: false, apiId, id: { [Op.notIn]: assigned } };
			return listPage(Tool, { where: { ...where, ...searchTools(q) }, page, sorts: TOOL_SORTS }, toTool);
		},
		assign: (organizationId, gatewayId, toolIds, settings = {}) =>
			database.transact((transaction) =>
				assign({ sequelize: bulk, models, transaction, of: ofGateway(organizationId, gatewayId) }, toolIds, settings),
			),
		async unassign(organizationId, gatewayId, id) {
			const row = await GatewayTool.findOne({ where: either(organizationId, gatewayId, id), raw: true });
			const gone = row ? await database.write((transaction) => GatewayTool.destroy({ where: { id: row.id }, transaction })) : 0;
			return row && gone > 0 ? toAssignment(row) : null;
		},
		updateAssignment: (organizationId, gatewayId, id, change) =>
			database.write(async (transaction) => {
				const gateway = { sequelize: ordinary, models, transaction, of: ofGateway(organizationId, gatewayId) };
				// A change that leaves the name alone needs no lock.
				if (change.name !== undefined && !(await lockGateway(gateway))) return null;
				const row = await GatewayTool.findOne({ where: either(organizationId, gatewayId, id), raw: true, transaction });
				return row && update(gateway, row, storable(change));
			}),
	};
}

export const ofGateway = (organizationId: string, gatewayId: string): OfGateway => ({
	organizationId: uuid(organizationId),
	gatewayId: uuid(gatewayId),
});

/** Finds an assignment by the tool's id or its own. */
const either = (organizationId: string, gatewayId: string, id: string) => ({
	...ofGateway(organizationId, gatewayId),
	[Op.or]: [{ id: uuid(id) }, { toolId: uuid(id) }],
});

async function withTools(
	{ Tool }: Models,
	organizationId: string,
	assignments: AssignmentRow[],
): Promise<{ assignment: AssignmentRow; tool: ToolRow }[]> {
	const ids = assignments.map(({ toolId }) => toolId);
	const rows = await Tool.findAll({ where: { organizationId: uuid(organizationId), id: ids }, raw: true });
	return pair(assignments, rows.map(toTool));
}

/** Pairs each assignment with its tool; one whose tool is not among `tools` is left out. */
export function pair(assignments: AssignmentRow[], tools: ToolRow[]): { assignment: AssignmentRow; tool: ToolRow }[] {
	const byId = new Map(tools.map((tool) => [tool.id, tool]));
	return assignments.flatMap((assignment) => {
		const tool = byId.get(assignment.toolId);
		return tool ? [{ assignment, tool }] : [];
	});
}

/** A gateway, and the transaction that changes it. */
interface GatewayTransaction {
	sequelize: Sequelize;
	models: Models;
	transaction: Transaction;
	of: OfGateway;
}

/** Locks the names of the gateway until the transaction ends. @returns whether there is such a gateway */
async function lockGateway({ sequelize, transaction, of }: GatewayTransaction): Promise<boolean> {
	return (await rows(sequelize, LOCK_GATEWAY, [of.organizationId, of.gatewayId], transaction)).length > 0;
}

const findTools = ({ sequelize, transaction, of }: GatewayTransaction, ids: string[]): Promise<Candidate[]> =>
	rows<Candidate>(sequelize, CANDIDATES, [of.organizationId, JSON.stringify(ids.map(uuid))], transaction);

const findNames = ({ models, transaction, of }: GatewayTransaction): Promise<Named[]> =>
	models.GatewayTool.findAll({ where: { ...of }, attributes: ['toolId', 'name'], raw: true, transaction });

async function assign(gateway: GatewayTransaction, toolIds: string[], settings: AssignmentSettings): Promise<AssignmentRow[]> {
	const { sequelize, models, transaction, of } = gateway;
	const ids = [...new Set(toolIds.map((id) => id.toLowerCase()))];
	if (!(await lockGateway(gateway))) throw notFound('Gateway');
	const found = new Map((await findTools(gateway, ids)).map((candidate) => [candidate.id, candidate]));
	const missing = toolIds.find((id) => !found.has(id.toLowerCase()));
	if (missing !== undefined) throw notFound(`Tool ${missing.slice(0, 100).replaceAll('\0', '')}`);

	const fresh = named(
		ids.flatMap((id) => found.get(id) ?? []),
		await findNames(gateway),
	);
	await sequelize.query(INSERT, { bind: [of.organizationId, of.gatewayId, JSON.stringify(fresh)], transaction });
	if (Object.keys(settings).length > 0) await models.GatewayTool.update(settings, { where: { ...of, toolId: ids }, transaction });
	const assigned = await models.GatewayTool.findAll({ where: { ...of, toolId: ids }, raw: true, transaction });
	const byTool = new Map(assigned.map((row) => [row.toolId, toAssignment(row)]));
	return ids.flatMap((id) => byTool.get(id) ?? []);
}

/** Names the tools that are not assigned yet, with names that are free in the gateway. */
function named(tools: Candidate[], existing: Named[]): { position: number; tool_id: string; name: string }[] {
	const present = new Set(existing.map(({ toolId }) => toolId));
	const taken = new Set(existing.map(({ name }) => name.toLowerCase()));
	return tools
		.filter(({ id }) => !present.has(id))
		.map(({ id, name }, position) => {
			const free = freeName(name, id, taken);
			taken.add(free.toLowerCase());
			return { position, tool_id: id, name: free };
		});
}

/** Changes an assignment; null when it was removed meanwhile. */
async function update(gateway: GatewayTransaction, row: GatewayTool, { name, ...rest }: AssignmentChange): Promise<AssignmentRow | null> {
	const { models, transaction } = gateway;
	const columns = { ...rest, ...(name !== undefined && { name: name ?? (await ownName(gateway, row)) }) };
	if (Object.keys(columns).length === 0) return toAssignment(row);
	const [, [updated]] = await models.GatewayTool.update(columns, { where: { id: row.id }, returning: true, transaction });
	return updated ? toAssignment(updated) : null;
}

/** Returns the name that the tool would get if it were assigned now. */
async function ownName(gateway: GatewayTransaction, { toolId, name }: GatewayTool): Promise<string> {
	const [tool] = await findTools(gateway, [toolId]);
	const others = (await findNames(gateway)).filter((other) => other.toolId !== toolId);
	return tool ? freeName(tool.name, toolId, new Set(others.map((other) => other.name.toLowerCase()))) : name;
}

/** Makes the name unique by a suffix derived from the tool's id, so that the same tool gets the same name again. */
function freeName(name: string, toolId: string, taken: ReadonlySet<string>): string {
	const base = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, NAME_LENGTH) || 'tool';
	let free = base;
	for (let attempt = 0; taken.has(free.toLowerCase()); attempt++) {
		const digest = createHash('sha256').update(`${toolId} ${attempt}`).digest('hex');
		free = `${base.slice(0, NAME_LENGTH - SUFFIX_LENGTH)}_${digest.slice(0, SUFFIX_LENGTH - 1)}`;
	}
	return free;
}

export const toAssignment = (row: Attributes<GatewayTool>): AssignmentRow => pick(row, ASSIGNMENT);
