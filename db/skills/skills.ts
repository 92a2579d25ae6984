// Skills, with the contents of their files.

import { createHash } from 'node:crypto';
import type { Attributes, Transaction } from 'sequelize';
import { GatewayError } from '../../core/contract/errors.ts';
import type { SkillFile } from '../../core/contract/skills.ts';
import type { NewSkillFile, SkillBounds, SkillEdit, SkillRow, Skills } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { SKILL, type Skill } from '../models/skill.ts';
import { listPage, own, uuid } from '../pages.ts';
import { type Removal, remove } from '../removal.ts';
import { rows } from '../rows.ts';
import { search } from '../search.ts';
import { byNameOr } from '../sorts.ts';
import { storable } from '../text.ts';
import { assertVersion } from '../versions.ts';
import { createSkillAssignments } from './assignments.ts';

const REMOVAL: Removal = {
	table: 'skills',
	dependants: { assignments: 'gateway_skills WHERE organization_id = $1 AND skill_id = $2' },
	users: ['assignments'],
};

const SORTS = byNameOr<Skill>('name', ({ name }) => name);

/** The organization's row is locked, so that what is counted stays until the change is made. */
const LOCK = 'SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE';
const USED = 'SELECT count(*)::int AS skills, coalesce(sum(bytes), 0)::float AS bytes FROM skills WHERE organization_id = $1 AND id <> $2';

/** The file that every skill has. */
const DOCUMENT = 'SKILL.md';

export function createSkills(database: Database, models: Models): Skills {
	const { Skill, SkillFile: File } = models;
	const get = async (organizationId: string, id: string): Promise<SkillRow | null> => {
		const skill = await Skill.findOne({ where: own(organizationId, id), raw: true });
		return skill && toSkill(skill);
	};
	const contentOf = async (
		organizationId: string,
		id: string,
		path: string,
		transaction: Transaction | null = null,
	): Promise<Buffer | null> => {
		const where = { organizationId: uuid(organizationId), skillId: uuid(id), path };
		return (await File.findOne({ where, attributes: ['content'], raw: true, transaction }))?.content ?? null;
	};
	return {
		...createSkillAssignments(database, models),
		list: (organizationId, page, { q } = {}) =>
			listPage(
				Skill,
				{ where: { organizationId: uuid(organizationId), ...search(q, ['name', 'description']) }, page, sorts: SORTS },
				toSkill,
			),
		get,
		// No file has such a path, and PostgreSQL takes none.
		content: async (organizationId, id, path) => (path.includes('\0') || !path.isWellFormed() ? null : contentOf(organizationId, id, path)),
		create: (organizationId, edit, bounds) =>
			database.write(async (transaction) => {
				const values = valuesOf(edit, []);
				await assertRoom({ database, transaction, bounds }, { organizationId, id: null, ...values });
				const skill = await Skill.create({ ...values, organizationId: uuid(organizationId) }, { transaction });
				await writeFiles(models, skill, edit, transaction);
				return toSkill(skill);
			}),
		update: (organizationId, id, edit, { bounds, ifVersion }) =>
			database.write(async (transaction) => {
				const where = own(organizationId, id);
				const row = await Skill.findOne({ where, raw: true, transaction, lock: transaction.LOCK.UPDATE });
				if (!row || !assertVersion(row, ifVersion)) return null;
				const changed = edit(toSkill(row), (await contentOf(organizationId, id, DOCUMENT, transaction)) ?? Buffer.alloc(0));
				const values = valuesOf(changed, row.files);
				if (values.bytes > row.bytes) await assertRoom({ database, transaction, bounds }, { organizationId, id, ...values });
				assertOne(values, bounds);
				await writeFiles(models, row, changed, transaction);
				const [, [updated]] = await Skill.update(values, { where, returning: true, transaction });
				return updated ? toSkill(updated) : null;
			}),
		remove: (organizationId, id, onlyIfUnused, ifVersion) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused, ifVersion }),
	};
}

export const toSkill = (row: Attributes<Skill>): SkillRow => pick(row, SKILL);

type Values = Omit<SkillEdit, 'put' | 'drop'> & Pick<SkillRow, 'files' | 'bytes'>;

/** Returns the columns of a skill after a change of its files. */
function valuesOf({ put, drop, ...values }: SkillEdit, before: readonly SkillFile[]): Values {
	const gone = new Set([...drop, ...put.map(({ path }) => path)]);
	const files = [...before.filter(({ path }) => !gone.has(path)), ...put.map(describe)].sort(byPath);
	return { ...storable(values), files, bytes: files.reduce((sum, { size }) => sum + size, 0) };
}

const describe = ({ path, mimeType, isText, content }: NewSkillFile): SkillFile => ({
	...{ path, mimeType, isText, size: content.length },
	digest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
});

/** The document comes first, as its readers expect. */
const byPath = (a: SkillFile, b: SkillFile): number => rank(a) - rank(b) || (a.path < b.path ? -1 : 1);
const rank = ({ path }: SkillFile): number => (path === DOCUMENT ? 0 : 1);

interface Change {
	database: Database;
	transaction: Transaction;
	bounds: SkillBounds;
}

/** @throws conflict when the organization has no room for the skill */
async function assertRoom(
	{ database, transaction, bounds }: Change,
	{ organizationId, id, ...values }: Values & { organizationId: string; id: string | null },
): Promise<void> {
	assertOne(values, bounds);
	const organization = uuid(organizationId);
	await rows(database.ordinary, LOCK, [organization], transaction);
	const [used] = await rows<{ skills: number; bytes: number }>(database.ordinary, USED, [organization, uuid(id ?? '')], transaction);
	if (!used) return;
	if (id === null && used.skills >= bounds.skills) throw full(`An organization may have ${bounds.skills} skills.`);
	if (used.bytes + values.bytes > bounds.bytes) throw full(`The skills of an organization may have ${bounds.bytes} bytes together.`);
}

function assertOne({ files, bytes }: Values, { skillBytes, skillFiles }: SkillBounds): void {
	// SKILL.md is not one of those that a user counts.
	if (files.length - 1 > skillFiles) throw full(`A skill may have ${skillFiles} files.`);
	if (bytes > skillBytes) throw full(`A skill may have ${skillBytes} bytes.`);
}

const full = (message: string): GatewayError => new GatewayError('conflict', message);

async function writeFiles(
	{ SkillFile: File }: Models,
	{ id, organizationId }: Pick<SkillRow, 'id' | 'organizationId'>,
	{ put, drop }: SkillEdit,
	transaction: Transaction,
): Promise<void> {
	const paths = [...drop, ...put.map(({ path }) => path)];
	if (paths.length > 0) await File.destroy({ where: { organizationId, skillId: id, path: paths }, transaction });
	const files = put.map(({ path, content }) => ({ organizationId, skillId: id, path, content }));
	if (files.length > 0) await File.bulkCreate(files, { transaction });
}
