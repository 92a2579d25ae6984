// Model connections of an organization.

import { GatewayError } from '../../core/contract/errors.ts';
import type { LlmProviderRow, LlmProviders } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { LLM_PROVIDER, type LlmProvider } from '../models/llm-provider.ts';
import { listPage, own, uuid } from '../pages.ts';
import { type Removal, remove } from '../removal.ts';
import { rows } from '../rows.ts';
import { search } from '../search.ts';
import { byNameOr } from '../sorts.ts';
import { storable } from '../text.ts';
import { assertVersion, ofVersion } from '../versions.ts';
import { createUsage } from './usage.ts';

const REMOVAL: Removal = {
	table: 'llm_providers',
	dependants: { months: 'llm_usage WHERE organization_id = $1 AND provider_id = $2' },
	users: [],
};
const SORTS = byNameOr<LlmProvider>('name', ({ name }) => name);
/** The organization's row is locked, so that what is counted stays until the row is there. */
const LOCK = 'SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE';

export function createLlmProviders(database: Database, { LlmProvider: Provider }: Models): LlmProviders {
	const get = async (organizationId: string, id: string): Promise<LlmProviderRow | null> => {
		const row = await Provider.findOne({ where: own(organizationId, id), raw: true });
		return row && pick(row, LLM_PROVIDER);
	};
	return {
		...createUsage(database),
		list: (organizationId, page, { q } = {}) =>
			listPage(Provider, { where: { organizationId: uuid(organizationId), ...search(q, ['name', 'model']) }, page, sorts: SORTS }, (row) =>
				pick(row, LLM_PROVIDER),
			),
		get,
		create: (organizationId, id, row, most) =>
			database.write(async (transaction) => {
				const organization = uuid(organizationId);
				await rows(database.ordinary, LOCK, [organization], transaction);
				const count = await Provider.count({ where: { organizationId: organization }, transaction });
				if (count >= most) throw new GatewayError('conflict', `An organization may have ${most} LLM providers.`);
				return pick(await Provider.create({ ...storable(row), ...own(organizationId, id) }, { transaction }), LLM_PROVIDER);
			}),
		async update(organizationId, id, change, ifVersion) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, id), ifVersion);
			const where = { ...own(organizationId, id), ...ofVersion(ifVersion) };
			const [, [row]] = await database.write((transaction) => Provider.update(storable(change), { where, returning: true, transaction }));
			return row ? pick(row, LLM_PROVIDER) : assertVersion(await get(organizationId, id), ifVersion);
		},
		remove: (organizationId, id, ifVersion) => remove(database, REMOVAL, { organizationId, id, onlyIfUnused: false, ifVersion }),
	};
}
