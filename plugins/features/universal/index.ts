// The universal endpoint `/mcp`: the tools of all gateways of an organization at one address (specification 4.3). The credential says which
// organization, or X-Organization-Id does (5.1, rule 5).

import Joi from 'joi';
import {
	ACCESS_KEY_PREFIX,
	type Core,
	type Feature,
	findSecret,
	GATEWAY_KEY_PREFIX,
	GatewayError,
	type Holder,
	type Incoming,
	JWT,
	type Reach,
} from '../../../core/features.ts';
import { assertNoOther, chooseOrganization, noOrganization, organizationNamed } from './organization.ts';

const TRANSPORT = 'mcp';
const PATH = '/mcp';

export default {
	kind: 'feature',
	api: 1,
	name: 'universal',
	summary: 'Serves all tools that a caller may run, over all gateways of their organization, at /mcp.',
	config: Joi.object({}),
	register(_server, _config, core) {
		const { registry, runtime } = core;
		if (!registry.get('transport', TRANSPORT)) return;
		const methods = registry.list('auth').filter(({ universal }) => universal === true);
		runtime.serveAt({
			path: PATH,
			transport: TRANSPORT,
			title: 'All tools of your organization',
			configOf: ({ toolExposure }) => ({ toolExposure }),
			identify: (incoming) => identify(incoming, core),
			admission: () => [
				{
					method: 'access_key',
					required: false,
					scheme: { type: 'http', scheme: 'bearer', description: 'An access key (ak_live_…) or the token of a login.' },
				},
			],
			methods: methods.map(({ name }) => ({ name })),
			check: ({ organizationId }, { headers }) => assertNoOther(organizationId, organizationNamed(headers)),
		});
	},
} satisfies Feature;

/** Returns the reach of an access key or of a login; null where the request has neither. @throws unauthorized, no_organization */
async function identify(incoming: Incoming, core: Core): Promise<Reach | null> {
	const secret = findSecret(incoming, {});
	if (secret === null) return null;
	if (secret.startsWith(GATEWAY_KEY_PREFIX))
		throw new GatewayError('unauthorized', `A key of a gateway is good at the address of that gateway only, not at ${PATH}.`);
	if (!secret.startsWith(ACCESS_KEY_PREFIX) && !JWT.test(secret)) return null;
	const look = async (): Promise<Holder> => {
		const holder = await core.members.holder(secret);
		if (!holder) throw new GatewayError('unauthorized', 'The access key is not valid, or the login of this token has ended.');
		return holder;
	};
	const holder = await look();
	try {
		return reachOf(holder, incoming, core);
	} catch (refusal) {
		// Membership that was granted on another replica holds here at once.
		await core.store.changes.fresh(0);
		const now = await look();
		if (now === holder) throw refusal;
		return reachOf(now, incoming, core);
	}
}

/** @throws no_organization; forbidden for a key for one agent */
function reachOf(holder: Holder, { headers }: Incoming, { runtime }: Core): Reach {
	if (holder.key?.reach.type === 'agent') throw new GatewayError('forbidden', 'The access key is for one agent, and for no gateway.');
	const reach = runtime.reachIn(holder, chooseOrganization(holder, organizationNamed(headers)));
	if (!reach) throw noOrganization('The credential is for no organization that the account belongs to.');
	return reach;
}
