// Skills in gateways.

import { type Attributes, Op } from 'sequelize';
import { GatewayError, notFound } from '../../core/contract/errors.ts';
import type { AssignedSkill, SkillAssignmentRow, Skills } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { type OfGateway, ofGateway } from '../gateways/assignments.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { type GatewaySkill, SKILL, SKILL_ASSIGNMENT } from '../models/skill.ts';
import { listPage, own, uuid } from '../pages.ts';
import { rows } from '../rows.ts';

/** The gateway's row is locked, so that what is counted stays until the skill is assigned. */
const LOCK = 'SELECT id FROM gateways WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE';

type Assigning = Pick<Skills, 'ofGateway' | 'assign' | 'unassign'>;

export function createSkillAssignments(database: Database, { GatewaySkill, Skill }: Models): Assigning {
	const withSkills = async (organizationId: string, assignments: SkillAssignmentRow[]): Promise<AssignedSkill[]> => {
		const ids = assignments.map(({ skillId }) => skillId);
		const found = await Skill.findAll({ where: { organizationId: uuid(organizationId), id: ids }, raw: true });
		const byId = new Map(found.map((row) => [row.id, pick(row, SKILL)]));
		return assignments.flatMap((assignment) => {
			const skill = byId.get(assignment.skillId);
			return skill ? [{ assignment, skill }] : [];
		});
	};
	return {
		async ofGateway(organizationId, gatewayId, page) {
			const { items, nextCursor } = await listPage(GatewaySkill, { where: ofGateway(organizationId, gatewayId), page }, toAssignment);
			return { items: await withSkills(organizationId, items), nextCursor };
		},
		assign: (organizationId, gatewayId, skillId, { assigned: most }) =>
			database.write(async (transaction) => {
				const of = ofGateway(organizationId, gatewayId);
				const locked = await rows(database.ordinary, LOCK, [of.organizationId, of.gatewayId], transaction);
				if (locked.length === 0) throw notFound('Gateway');
				const row = await Skill.findOne({ where: own(organizationId, skillId), raw: true, transaction, lock: transaction.LOCK.KEY_SHARE });
				if (!row) throw notFound('Skill');
				const skill = pick(row, SKILL);
				const known = await GatewaySkill.findOne({ where: { ...of, skillId: row.id }, raw: true, transaction });
				if (known) return { assignment: toAssignment(known), skill };
				const count = await GatewaySkill.count({ where: { ...of }, transaction });
				if (count >= most) throw new GatewayError('conflict', `A gateway may have ${most} skills.`);
				return { assignment: toAssignment(await GatewaySkill.create({ ...of, skillId: row.id }, { transaction })), skill };
			}),
		async unassign(organizationId, gatewayId, id) {
			const row = await GatewaySkill.findOne({ where: either(ofGateway(organizationId, gatewayId), id), raw: true });
			const [assigned] = row ? await withSkills(organizationId, [toAssignment(row)]) : [];
			const gone = assigned
				? await database.write((transaction) => GatewaySkill.destroy({ where: { id: assigned.assignment.id }, transaction }))
				: 0;
			return assigned && gone > 0 ? assigned : null;
		},
	};
}

/** Finds an assignment by the skill's id or its own. */
const either = (of: OfGateway, id: string) => ({ ...of, [Op.or]: [{ id: uuid(id) }, { skillId: uuid(id) }] });

export const toAssignment = (row: Attributes<GatewaySkill>): SkillAssignmentRow => pick(row, SKILL_ASSIGNMENT);
