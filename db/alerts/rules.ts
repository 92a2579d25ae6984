// Rules of alerts of an organization.

import { GatewayError } from '../../core/contract/errors.ts';
import type { AlertRuleRow, Alerts } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { unlessOrphan } from '../errors.ts';
import { ALERT_RULE, type AlertRule } from '../models/alert.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { listPage, own, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { search } from '../search.ts';
import { byNameOr } from '../sorts.ts';
import { storable } from '../text.ts';
import { assertVersion, ofVersion } from '../versions.ts';

const SORTS = byNameOr<AlertRule>('name', ({ name }) => name);
/** The organization's row is locked, so that what is counted stays until the row is there. */
const LOCK = 'SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE';

const optional = (id: string | null | undefined): string | null => (id === null || id === undefined ? null : uuid(id));

export function createAlerts(database: Database, { AlertRule: Rule }: Models): Alerts {
	const get = async (organizationId: string, id: string): Promise<AlertRuleRow | null> => {
		const row = await Rule.findOne({ where: own(organizationId, id), raw: true });
		return row && pick(row, ALERT_RULE);
	};
	return {
		list: (organizationId, page, { q } = {}) =>
			listPage(Rule, { where: { organizationId: uuid(organizationId), ...search(q, ['name']) }, page, sorts: SORTS }, (row) =>
				pick(row, ALERT_RULE),
			),
		get,
		create: (organizationId, id, row, most) =>
			unlessOrphan(() =>
				database.write(async (transaction) => {
					const organization = uuid(organizationId);
					await rows(database.ordinary, LOCK, [organization], transaction);
					const count = await Rule.count({ where: { organizationId: organization }, transaction });
					if (count >= most) throw new GatewayError('conflict', `An organization may have ${most} alert rules.`);
					const about = { toolId: optional(row.toolId), apiId: optional(row.apiId) };
					return pick(await Rule.create({ ...storable({ ...row, ...about }), ...own(organizationId, id) }, { transaction }), ALERT_RULE);
				}),
			),
		async update(organizationId, id, change, ifVersion) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, id), ifVersion);
			const where = { ...own(organizationId, id), ...ofVersion(ifVersion) };
			const [, [row]] = await database.write((transaction) => Rule.update(storable(change), { where, returning: true, transaction }));
			return row ? pick(row, ALERT_RULE) : assertVersion(await get(organizationId, id), ifVersion);
		},
		async remove(organizationId, id, ifVersion) {
			const where = { ...own(organizationId, id), ...ofVersion(ifVersion) };
			if ((await database.write((transaction) => Rule.destroy({ where, transaction }))) > 0) return true;
			assertVersion(await get(organizationId, id), ifVersion);
			return false;
		},
	};
}
