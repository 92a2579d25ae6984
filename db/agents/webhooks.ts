// The webhooks that start agents.

import { GatewayError } from '../../core/contract/errors.ts';
import type { Agents, AgentWebhookRow } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { AGENT_WEBHOOK, type AgentWebhook } from '../models/agent.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { listPage, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { byNameOr } from '../sorts.ts';
import { storable } from '../text.ts';
import { assertVersion, ofVersion } from '../versions.ts';

const SORTS = byNameOr<AgentWebhook>('name', ({ name }) => name);
/** The agent's row is locked, so that what is counted stays until the row is there. */
const LOCK = 'SELECT id FROM agents WHERE organization_id = $1 AND id = $2 FOR NO KEY UPDATE';

type Webhooks = Pick<Agents, 'webhooks' | 'webhook' | 'webhookOf' | 'addWebhook' | 'updateWebhook' | 'removeWebhook'>;

const ofAgent = (organizationId: string, agentId: string) => ({ organizationId: uuid(organizationId), agentId: uuid(agentId) });

export function createWebhooks({ ordinary, write }: Database, { AgentWebhook: Webhook }: Models): Webhooks {
	const get = async (organizationId: string, agentId: string, id: string): Promise<AgentWebhookRow | null> => {
		const row = await Webhook.findOne({ where: { ...ofAgent(organizationId, agentId), id: uuid(id) }, raw: true });
		return row && pick(row, AGENT_WEBHOOK);
	};
	return {
		webhooks: (organizationId, agentId, page) =>
			listPage(Webhook, { where: ofAgent(organizationId, agentId), page, sorts: SORTS }, (row) => pick(row, AGENT_WEBHOOK)),
		webhook: get,
		async webhookOf(id) {
			const row = await Webhook.findOne({ where: { id: uuid(id) }, raw: true });
			return row && pick(row, AGENT_WEBHOOK);
		},
		addWebhook: (organizationId, agentId, id, webhook, most) =>
			write(async (transaction) => {
				const where = ofAgent(organizationId, agentId);
				const locked = await rows(ordinary, LOCK, [where.organizationId, where.agentId], transaction);
				if (locked.length === 0) return null;
				const count = await Webhook.count({ where, transaction });
				if (count >= most) throw new GatewayError('conflict', `An agent may have ${most} webhooks.`);
				return pick(await Webhook.create({ ...storable(webhook), ...where, id: uuid(id) }, { transaction }), AGENT_WEBHOOK);
			}),
		async updateWebhook(organizationId, agentId, id, change, ifVersion) {
			if (Object.keys(change).length === 0) return assertVersion(await get(organizationId, agentId, id), ifVersion);
			const where = { ...ofAgent(organizationId, agentId), id: uuid(id), ...ofVersion(ifVersion) };
			const [, [row]] = await write((transaction) => Webhook.update(storable(change), { where, returning: true, transaction }));
			return row ? pick(row, AGENT_WEBHOOK) : assertVersion(await get(organizationId, agentId, id), ifVersion);
		},
		async removeWebhook(organizationId, agentId, id, ifVersion) {
			const where = { ...ofAgent(organizationId, agentId), id: uuid(id), ...ofVersion(ifVersion) };
			if ((await write((transaction) => Webhook.destroy({ where, transaction }))) > 0) return true;
			assertVersion(await get(organizationId, agentId, id), ifVersion);
			return false;
		},
	};
}
