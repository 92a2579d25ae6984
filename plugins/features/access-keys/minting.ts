// Makes an access key: what it may reach, and its permissions.

import Joi from 'joi';
import {
	ACCESS_KEY_PREFIX,
	type AccessKeyRow,
	type Core,
	hashKey,
	type KeyReach,
	mintKey,
	notFound,
	type PermissionName,
	type Repositories,
} from '../../../core/features.ts';

export type Scope = { type: 'account' } | { type: 'gateway' | 'agent'; id: string };

/** The permissions of a key for one resource that names none: those that its clients need. */
const CLIENTS: Readonly<Record<'gateway' | 'agent', readonly PermissionName[]>> = {
	gateway: ['tools:read', 'tools:execute'],
	agent: ['agents:read', 'agents:execute'],
};
const RESOURCE = { account: 'Account', gateway: 'Gateway', agent: 'Agent' } as const;
/** The number of characters that are shown: enough to recognise a key, too few to guess it. */
const SHOWN_CHARACTERS = ACCESS_KEY_PREFIX.length + 4;

export const scope = Joi.object({
	type: Joi.string().valid('account', 'gateway', 'agent').required(),
	id: Joi.string()
		.max(100)
		// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
		.when('type', { is: 'account', then: Joi.forbidden(), otherwise: Joi.required() })
		.description('Id of the gateway or agent.'),
})
	.default({ type: 'account' })
	.description('What the key opens: everything that its owner can access, or one gateway or agent.');

export const chosen = (names: readonly PermissionName[]): Joi.ArraySchema =>
	Joi.array()
		.items(Joi.string().valid(...names))
		.unique()
		.min(1)
		.description(
			'Limited to those of its owner. When absent: all of them for a key of the account, `tools:read` and `tools:execute` for a key of one gateway, ' +
				'`agents:read` and `agents:execute` for a key of one agent.',
		);

/** Finds the organization and the gateway or agent of a key, in any of the user's organizations. @throws not_found */
export async function reachOf(wanted: Scope, userId: string, { store }: Pick<Core, 'store'>): Promise<KeyReach> {
	if (wanted.type === 'account') return { type: 'account' };
	const { type } = wanted;
	const rows = type === 'agent' ? store.agents : store.gateways;
	for (const { organization } of await store.accounts.memberships(userId)) {
		const row = await rows.get(organization.id, wanted.id);
		if (row) return { type, id: row.id, organizationId: organization.id };
	}
	throw notFound(RESOURCE[type]);
}

/** Stores a new key. @param repositories write in the name of its owner. @returns its row, and the key itself. @throws not_found */
export async function mint(
	{ accessKeys }: Pick<Repositories, 'accessKeys'>,
	userId: string,
	{ name, reach, permissions }: { name: string; reach: KeyReach; permissions: PermissionName[] | null },
): Promise<{ row: AccessKeyRow; key: string }> {
	const key = mintKey(ACCESS_KEY_PREFIX);
	const row = await accessKeys.create(userId, {
		name,
		prefix: key.slice(0, SHOWN_CHARACTERS),
		reach,
		permissions: permissions ?? (reach.type === 'account' ? null : [...CLIENTS[reach.type]]),
		hash: hashKey(key),
	});
	if (!row) throw notFound(RESOURCE[reach.type]);
	return { row, key };
}
