// A service with a feature, and the people who ask it, for the contract of features.

import assert from 'node:assert/strict';
import Joi from 'joi';
import type { JsonObject } from '../../core/contract/nouns.ts';
import { ROLES, type Role } from '../../core/contract/permissions.ts';
import type { Core, Feature } from '../../core/features.ts';
import type { Endpoint } from '../../core/management/operation.ts';
import { type Account, type Answer, send } from '../account.ts';
import { withCanaryIn } from '../canary.ts';
import { startWhole } from '../start.ts';
import type { FeatureOptions, FeatureSample, FeatureStory } from './contract.ts';

/** A route of the feature. */
export interface HeldRoute {
	method: string;
	path: string;
	/** The declaration; absent for a plain route of hapi. */
	declared: Endpoint | undefined;
}

/** A request of a sample, ready to be sent. */
export interface Prepared {
	method: string;
	path: string;
	body: unknown;
	headers: Record<string, string>;
	route: HeldRoute;
}

export interface FeatureWorld {
	url: string;
	core: Core;
	/** The routes that the feature registered; those at which it serves a transport are not its own. */
	routes: readonly HeldRoute[];
	/** The routes that samples have asked, as in `GET /notes`. */
	asked: ReadonlySet<string>;
	/** Every line that was logged. */
	lines: readonly string[];
	owner: Account;
	/** Registers the owner of another organization, which is empty. */
	stranger(): Promise<Account>;
	/** A member of the owner's organization. */
	as(role: Role): Promise<Account>;
	/** The roles that lack what a route needs. */
	lesser(route: HeldRoute): readonly Role[];
	prepare(sample: FeatureSample): Prepared;
	/** Sends the request of a sample as the owner, and keeps the answer. */
	tell(sample: FeatureSample): Promise<Answer>;
	ask(asked: Prepared, account: Account | null, headers?: Record<string, string>): Promise<Answer>;
	/** The ids in the answers that the owner got. */
	told(): readonly string[];
	/** Whatever the owner's organization has of the feature, to be compared. */
	state(): Promise<string>;
	stop(): Promise<void>;
}

/** @param config the operator's */
export async function startWorld(feature: Feature, options: FeatureOptions, config: JsonObject): Promise<FeatureWorld> {
	const lines: string[] = [];
	let core: Core | undefined;
	const given = options.service ?? { plugins: [feature] };
	const { gatehouse, service } = await startWhole({
		...given,
		...{ limits: 'none', onLog: (line) => lines.push(line), operator: { ...given.operator, [`feature:${feature.name}`]: config } },
		plugins: [...(given.plugins ?? []), probe((found) => (core = found))],
	});
	try {
		assert.ok(core);
		const owner = await gatehouse.register('Owner');
		const story: Story = { owner, made: (await options.prepare?.(owner)) ?? {}, answers: {} };
		const members = new Map<Role, Promise<Account>>();
		const asked = new Set<string>();
		const routeOf = (method: string, path: string): HeldRoute => {
			const found = service.server.match(method.toLowerCase() as 'get', path.split('?')[0] ?? '');
			const isOwn = found?.settings.plugins?.feature === feature.name;
			assert.ok(found && isOwn, `${method} ${path} is no route of the feature`);
			return { method: method.toUpperCase(), path: found.path, declared: found.settings.plugins?.operation };
		};
		const world: FeatureWorld = {
			...{
				url: gatehouse.url,
				core,
				lines,
				owner,
				stranger: () => gatehouse.register(),
				asked,
				routes: routesOf(service.server.table(), feature),
			},
			...{ ask: (sent, account, headers) => ask(gatehouse.url, sent, account, headers), stop: () => gatehouse.stop() },
			lesser: ({ declared }) => (declared?.need.includes(':') ? ROLES.filter((role) => lacks(world.core, role, declared.need)) : []),
			as(role) {
				const joining = members.get(role) ?? owner.member(role);
				members.set(role, joining);
				return joining;
			},
			prepare: (sample) => prepared(sample, story, routeOf),
			async tell(sample) {
				const sent = world.prepare(sample);
				const answer = await world.ask(sent, owner);
				asked.add(`${sent.method} ${sent.route.path}`);
				story.answers[sample.name] = answer;
				return answer;
			},
			told: () => Object.values(story.answers).flatMap(({ body }) => JSON.stringify(body).match(UUID) ?? []),
			state: () => stateOf(world, feature),
		};
		return world;
	} catch (error) {
		await gatehouse.stop();
		throw error;
	}
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

type Story = FeatureStory & { answers: Record<string, Answer> };

/** A feature without routes that gives the core of the service. */
const probe = (found: (core: Core) => void): Feature => ({
	...{ kind: 'feature', api: 1, name: 'contract_probe', summary: 'Lends the core to a test.', config: Joi.object({}) },
	register: (_server, _config, core) => found(core),
});

type Table = readonly { method: string; path: string; settings: { plugins?: { feature?: string; operation?: Endpoint } | undefined } }[];

const routesOf = (table: Table, { name }: Feature): HeldRoute[] =>
	table
		.filter(({ settings: { plugins } }) => plugins?.feature === name)
		.map(({ method, path, settings }) => ({ method: method.toUpperCase(), path, declared: settings.plugins?.operation }));

const lacks = ({ permissions }: Core, role: Role, need: string): boolean => !permissions.of(role).some((name) => name === need);

function prepared(
	{ method, path, body, headers = {} }: FeatureSample,
	story: Story,
	routeOf: (method: string, path: string) => HeldRoute,
): Prepared {
	const at = typeof path === 'function' ? path(story) : path;
	const route = routeOf(method, at);
	const given: unknown = typeof body === 'function' ? body(story) : body;
	const schema = route.declared?.body;
	return { method, path: at, body: schema ? withCanaryIn(schema, given) : given, headers, route };
}

function ask(
	url: string,
	{ method, path, body, headers }: Prepared,
	account: Account | null,
	more: Record<string, string> = {},
): Promise<Answer> {
	const all = { ...headers, ...more };
	return account ? account.send(method, path, body, all) : send(url + path, method, body, all);
}

async function stateOf({ core, owner }: FeatureWorld, { name }: Feature): Promise<string> {
	const { id } = owner.organization;
	const records = await core.store.records.find(id, { plugin: `feature:${name}`, gatewayId: null }, { all: [] }, { limit: 100 });
	const audit = await core.store.audit.list(id, { limit: 100 }, {});
	const kept = records.items.map(({ key, value, tags, revision }) => ({ key, value, tags, revision }));
	return JSON.stringify({
		kept,
		audit: audit.items.filter(({ resourceType }) => resourceType !== 'member' && resourceType !== 'invitation'),
	});
}
