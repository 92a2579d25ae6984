// The contract of every feature: it is held on a service of its own, asked by the owner of an organization and by everybody who must be refused.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Job, Jobs } from '../../core/contract/jobs.ts';
import type { Caller, Json, JsonObject } from '../../core/contract/nouns.ts';
import type { Core, Feature } from '../../core/features.ts';
import { Registry } from '../../core/registry/registry.ts';
import { type Account, type Answer, registerAccount } from '../account.ts';
import { assertHidden, hasSecrets, plantCanaries, type SecretConfigs } from '../canary.ts';
import { type ConfigSamples, describeManifest } from '../config.ts';
import type { GatehouseOptions } from '../start.ts';
import { PATIENCE_MS, patiently } from '../waiting.ts';
import { describeSample, shownOf } from './requests.ts';
import { type FeatureWorld, startWorld } from './world.ts';

/** The things that happened before a sample. */
export interface FeatureStory {
	/** The owner of the organization that asks. */
	owner: Account;
	/** The ids that `prepare` returned. */
	made: Readonly<Record<string, string>>;
	/** The answers to the former samples, by their names. */
	answers: Readonly<Record<string, Answer>>;
}

/** A request to one of the feature's operations, which the owner of an organization sends. */
export interface FeatureSample {
	/** Completes “answers …”. */
	name: string;
	method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
	path: string | ((story: FeatureStory) => string);
	/** JSON, or a function that returns it. Secrets that the schema of the body marks are replaced by CANARY; others may be CANARY from the beginning. */
	body?: Json | object | ((story: FeatureStory) => unknown);
	headers?: Record<string, string>;
	/** The status of the answer. */
	status: number;
	/** A text that the answer has. */
	has?: string | RegExp;
	/** The status for the owner of another organization. Default: 404 where the path names something, `status` where it does not. */
	strangers?: number;
	/** The answer shows the secret that was sent or made, this once. */
	shows?: true;
}

/** A job with what it is begun with. */
export interface FeatureJob {
	name: string;
	data: Json;
	/** Its output. Default: any. */
	output?: Json;
}

export interface FeatureOptions extends Omit<ConfigSamples, 'good'> {
	/** The operator's configuration. */
	config: JsonObject;
	/** Configurations that hold each secret of the schema. Default: `config`. */
	secretConfig?: SecretConfigs;
	/** Requests in order, at least one to each operation. */
	samples: readonly FeatureSample[];
	/** At least one for each job that the feature declares. */
	jobs?: readonly FeatureJob[];
	/** Makes what the samples need, such as a gateway. @returns ids for the samples, by names of its own */
	prepare?(owner: Account): Promise<Record<string, string>>;
	/** The service on which it is held. Default: one with the feature in `plugins`; a feature of a package is named in `packages` instead. */
	service?: GatehouseOptions;
}

type FeatureFixture = FeatureOptions & { feature: Feature };
/** Starts the service at the first use. */
type WorldFactory = () => Promise<FeatureWorld>;

/** Registers the tests that hold a feature to its contract. */
export function featureContract(feature: Feature, options: FeatureOptions): void {
	const fixture: FeatureFixture = { feature, ...options };
	let starting: Promise<FeatureWorld> | null = null;
	const given: WorldFactory = () => {
		starting ??= startWorld(feature, fixture, options.config);
		return starting;
	};

	describe(`${feature.name} keeps the features’ contract`, () => {
		describeManifest(feature, { good: options.config, bad: options.bad });
		test('a configuration that does not fit stops the start, and the message names the feature and no value', () => {
			for (const { config } of options.bad) assert.throws(() => configured(feature, config), new RegExp(`feature:${feature.name}`));
		});
		test('it registers with a service, which then serves its operations', async () => {
			const { routes, core } = await given();
			assert.ok(core.registry.get('feature', feature.name), 'it is not loaded');
			const missing = routes.filter(({ declared }) => !declared).map(({ method, path }) => `${method} ${path}`);
			assert.deepEqual(missing, [], 'a route is declared by operation(), so that it is checked and described');
		});
		test('its operations are described in the document', () => describeDocument(given));
		test('no organization gets one of its segments as its address', () => describeSegments(given, feature));
		for (const sample of options.samples) describe(`The request “${sample.name}”`, () => describeSample(given, sample));
		test('every operation has a sample', () => describeSamples(given));
		if (feature.jobs) describe('Its jobs', () => describeJobs(given, fixture));
		test('secrets of bodies are in no line of the log, no entry of the audit log and no record', async () => {
			const { lines, state } = await given();
			assertHidden('the log', lines);
			assertHidden('what it stores', await state());
		});
		if (hasSecrets(feature.config))
			test('a secret of its configuration is in no answer, document, record or line of the log', () => describeSecrets(fixture));
		after(async () => patiently((await starting?.catch(() => null))?.stop() ?? Promise.resolve(), 'the stop of the service'));
	});
}

function configured(feature: Feature, config: JsonObject): void {
	const registry = new Registry();
	registry.add(feature);
	registry.configure({ file: 'the test', entries: new Map([[`feature:${feature.name}`, config]]) });
}

async function describeDocument(given: WorldFactory): Promise<void> {
	const { routes, owner } = await given();
	const { paths } = (await owner.send('GET', '/openapi.json')).body;
	for (const { declared } of routes) {
		if (!declared) continue;
		const { id, path, method, need } = declared;
		const page = paths[path]?.[method.toLowerCase()];
		assert.equal(page?.operationId, id, `${method} ${path} is not in the document`);
		assert.match(page.summary, /^[A-Z].*\.$/s, `${id}: its summary is a sentence`);
		assert.ok(
			Object.keys(page.responses).some((status) => status.startsWith('2')),
			`${id}: it has an answer`,
		);
		assert.equal('401' in page.responses, need !== 'public', `${id}: its refusals follow from what it needs`);
	}
}

async function describeSegments(given: WorldFactory, { segments = [] }: Feature): Promise<void> {
	const { url, core } = await given();
	for (const segment of segments) {
		assert.ok(core.reserved.has(segment), segment);
		const { organization } = await registerAccount(url, segment);
		assert.notEqual(organization.slug, segment);
	}
}

async function describeSamples(given: WorldFactory): Promise<void> {
	const { routes, asked } = await given();
	const missing = routes.map(({ method, path }) => `${method} ${path}`).filter((name) => !asked.has(name));
	assert.deepEqual(missing, [], `no sample asks ${missing.join(', ')}`);
}

function describeJobs(given: WorldFactory, { feature, jobs = [] }: FeatureFixture): void {
	for (const name of Object.keys(feature.jobs ?? {}))
		test(`${name} ends as it should, also when it is begun again, and exists in its organization only`, async () => {
			const { core, owner, ...world } = await given();
			const stranger = await world.stranger();
			const samples = jobs.filter((job) => job.name === name);
			assert.ok(samples.length > 0, `the job ${name} has no sample: name it in \`jobs\``);
			const at = (account: Account, caller: Caller | null) =>
				core.jobs.jobs({ plugin: `feature:${feature.name}`, organizationId: account.organization.id, gateway: null, caller });
			const caller = await callerOf(core, owner);
			for (const { data, output } of samples)
				for (const _time of ['once', 'again']) {
					const { id } = await at(owner, caller).add(name, data);
					assert.equal(await at(stranger, null).get(id), null, 'another organization sees it');
					const job = await patiently(endOf(at(owner, caller), id), `the job ${name}`);
					assert.deepEqual([job?.status, job?.error], ['succeeded', null]);
					if (output !== undefined) assert.deepEqual(job?.output, output);
				}
		});
}

async function callerOf({ members }: Core, { send, organization }: Account): Promise<Caller> {
	const { id } = (await send('GET', '/auth/profile')).body.data;
	return (await members.byId(id, { id: '', organizationId: organization.id })) ?? assert.fail('the owner is no member');
}

async function endOf(jobs: Jobs, id: string): Promise<Job | null> {
	for await (const job of jobs.follow(id, AbortSignal.timeout(PATIENCE_MS))) if (job?.finishedAt) return job;
	return null;
}

/** Tells the samples to a service that was configured with canaries. */
async function describeSecrets(fixture: FeatureFixture): Promise<void> {
	const { feature, config, secretConfig = config, samples } = fixture;
	for (const { config: planted, texts } of await plantCanaries(feature.config, secretConfig)) {
		const world = await startWorld(feature, fixture, planted);
		try {
			for (const sample of samples) {
				const answer = await world.tell(sample);
				assertHidden(`the answer to ${sample.name}`, shownOf(answer), texts);
			}
			for (const path of ['/openapi.json', '/plugins']) assertHidden(path, shownOf(await world.owner.send('GET', path)), texts);
			assertHidden('what it stores', await world.state(), texts);
			assertHidden('the log', world.lines, texts);
		} finally {
			await world.stop();
		}
	}
}
