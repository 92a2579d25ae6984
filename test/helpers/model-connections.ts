// The model connections of an organization that has one, at any address: all of core's own but the row, which is in memory.

import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { Models } from '../../core/contract/models.ts';
import type { LlmProvider } from '../../core/contract/providers.ts';
import { createEgress } from '../../core/egress/egress.ts';
import { createLanes } from '../../core/lanes/lanes.ts';
import { ModelConnections } from '../../core/models/connections.ts';
import type { Spending } from '../../core/models/spending.ts';
import { Registry } from '../../core/registry/registry.ts';
import { createSecrets } from '../../core/secrets/envelopes.ts';
import { Memo } from '../../core/shared/memo.ts';
import type { LlmProviderRow, Store } from '../../core/store/store.ts';
import { Breakers } from '../../core/upstreams/breakers.ts';
import type { Signer } from '../../core/upstreams/credentials.ts';
import anthropic from '../../plugins/providers/anthropic/index.ts';
import custom from '../../plugins/providers/custom/index.ts';
import { KEY } from '../../testing/provider.ts';
import { silent } from './postgres.ts';

export const PROVIDER_ID = '00000000-0000-4000-8000-0000000000aa';

const ROW: LlmProviderRow = {
	...{ id: PROVIDER_ID, organizationId: 'org', version: 1, createdAt: new Date(0), updatedAt: new Date(0) },
	...{ name: 'Models', provider: 'custom', connection: {}, configVersion: 1, model: 'small', configuration: {} },
	...{ prices: null, budget: null, outbound: null, status: 'active' },
};

export interface Connected {
	models: Models;
	/** The calls that were counted: what they used. */
	settled: unknown[];
	/** The reservations that were asked for: their costs. */
	reserved: number[];
}

/** @param more members of the connection's row; and the plugin of a provider of the test's own */
export function modelsAt(
	t: TestContext,
	origin: string,
	{ plugin, ...more }: Partial<LlmProviderRow> & { plugin?: LlmProvider } = {},
	spending?: Spending,
): Connected {
	const registry = new Registry();
	for (const provider of [custom, anthropic, ...(plugin ? [plugin] : [])]) registry.add(provider);
	registry.configure(null);
	const secrets = createSecrets(randomBytes(32).toString('hex'));
	const place = { organizationId: 'org', table: 'llm_providers', row: PROVIDER_ID } as const;
	const connection = registry.seal('provider', more.provider ?? ROW.provider, { baseUrl: origin, apiKey: KEY }, secrets, place);
	const [settled, reserved]: [unknown[], number[]] = [[], []];
	const llmProviders = {
		get: async (_organization: string, id: string) => (id === PROVIDER_ID ? { ...ROW, connection, ...more } : null),
		reserve: async (_of: unknown, cost: number) => `reservation-${reserved.push(cost)}`,
		settle: async (_of: unknown, usage: unknown) => settled.push(usage) > 0,
	};
	const egress = createEgress({ allow: ['127.0.0.1'] });
	const lanes = createLanes({ redis: null, log: silent });
	t.after(() => Promise.all([egress.close(), lanes.close()]));
	const connections = new ModelConnections({
		recorder: { request: () => undefined },
		...{ registry, secrets, egress, privateEgress: egress, lanes, breakers: new Breakers(), memo: new Memo(10), log: silent },
		// Calls use nothing else of either.
		...{ store: { llmProviders } as unknown as Store, signer: {} as Signer },
	});
	return { models: connections.of('org', new AbortController().signal, spending), settled, reserved };
}
