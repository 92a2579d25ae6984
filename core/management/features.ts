// Registers the features: each plain hapi plugin with its routes, which are then known as its own.

import type { Server } from '@hapi/hapi';
import type { PluginOf } from '../contract/kinds.ts';
import type { Log } from '../contract/nouns.ts';
import { runStep } from '../registry/loader.ts';
import type { LoadOptions } from '../registry/loading.ts';
import type { Registry } from '../registry/registry.ts';
import { claimRoutes } from './declarations.ts';

type Feature = PluginOf<'feature'>;
/** The core that features receive, of which this room knows a part only. */
type GivenCore = Parameters<Feature['register']>[2];

/** @throws Error naming the feature, its package and the line at which it failed; also when it takes too long */
export async function registerFeatures(server: Server, core: GivenCore, options: LoadOptions = {}): Promise<void> {
	const { registry, log }: { registry: Registry; log: Log } = core;
	for (const feature of registry.list('feature')) {
		const others = new Set(server.table());
		const run = async (): Promise<void> => {
			const recordsOf: GivenCore['recordsOf'] = (place) => core.recordsOf({ ...place, feature: feature.name });
			await feature.register(server, registry.operator(`feature:${feature.name}`), { ...core, recordsOf });
			claimRoutes(
				server.table().filter((route) => !others.has(route)),
				feature,
			);
		};
		await runStep(registry, feature, { name: 'register', run }, { log, ...options });
	}
}
