// The requests of a feature's contract: each is sent by everybody who must be refused, then by the owner.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account, Answer } from '../account.ts';
import { assertHidden } from '../canary.ts';
import type { FeatureSample } from './contract.ts';
import type { FeatureWorld, Prepared } from './world.ts';

const NOBODY = ['Bearer garbage', 'Basic eDp5', `Bearer ak_live_${'x'.repeat(43)}`];
const HOSTILE: readonly unknown[] = [null, 0, '', 'x', [], [null], JSON.parse('{"__proto__":{"a":1}}'), { noSuchField: 1 }, '{"a":'];
const HOSTILE_NAMES = ['%00', '%F0%9F', '%2e%2e%2f', 'x'.repeat(2_000), '__proto__', "'%22%3B--"];

/** Returns an answer as it is told: its headers and its body. */
export const shownOf = ({ headers, body }: Answer): string => JSON.stringify([[...headers], body]);

/** Registers the tests of one request, in the order in which they are to run. */
export function describeSample(given: () => Promise<FeatureWorld>, sample: FeatureSample): void {
	/** Sends requests that must change nothing. */
	const unchanged = async (send: (world: FeatureWorld, sent: Prepared) => Promise<void>): Promise<void> => {
		const world = await given();
		const before = await world.state();
		await send(world, world.prepare(sample));
		assert.equal(await world.state(), before, 'it changed something');
	};

	test('without a credential that is good it is refused', () => unchanged(refusedToNobody));
	test('by a role that lacks what it needs it is refused', () => unchanged(refusedToRoles));
	test('for another organization, what is in this one does not exist', () =>
		unchanged((world, sent) => hiddenFromStrangers(world, sample, sent)));
	test('with input that nobody expects it is answered or refused', async () => {
		const world = await given();
		await takesAnything(world, world.prepare(sample));
	});
	test('it is answered as its operation promises', async () => {
		const world = await given();
		const { route } = world.prepare(sample);
		const answer = await world.tell(sample);
		const shown = shownOf(answer);
		assert.equal(answer.status, sample.status, shown);
		if (typeof sample.has === 'string') assert.ok(shown.includes(sample.has), shown);
		else if (sample.has) assert.match(shown, sample.has);
		if (!sample.shows) assertHidden('the answer', shown);
		if (answer.status < 300 && route.declared) assertPromised(route.declared, answer);
	});
}

async function refusedToNobody(world: FeatureWorld, sent: Prepared): Promise<void> {
	if (sent.route.declared?.need === 'public') return;
	for (const headers of [{}, ...NOBODY.map((authorization) => ({ authorization }))]) {
		const { status } = await world.ask(sent, null, headers);
		assert.equal(status, 401, `with ${JSON.stringify(headers).slice(0, 40)}`);
	}
}

async function refusedToRoles(world: FeatureWorld, sent: Prepared): Promise<void> {
	for (const role of world.lesser(sent.route)) {
		const { status } = await world.ask(sent, await world.as(role));
		assert.equal(status, 403, `a ${role} got ${status}`);
	}
}

async function hiddenFromStrangers(world: FeatureWorld, { status, strangers }: FeatureSample, sent: Prepared): Promise<void> {
	const { owner, told } = world;
	const { declared, path } = sent.route;
	if (declared?.need === 'public') return;
	const stranger = await world.stranger();
	const answer = await world.ask(sent, stranger);
	assert.equal(answer.status, strangers ?? (path.includes('{') ? 404 : status), shownOf(answer));
	const named = await world.ask(sent, stranger, { 'x-organization-id': owner.organization.id });
	// An operation for the user alone does not look at the organization.
	if (declared?.need.includes(':'))
		assert.ok(named.status >= 400 && named.status < 500, `naming the organization, it answered ${named.status}`);
	for (const one of [answer, named]) {
		const shown = shownOf(one);
		const asked = JSON.stringify([sent.path, sent.body]);
		const secrets = [...told(), owner.email, owner.organization.id].filter((text) => !asked.includes(text));
		for (const text of secrets) assert.ok(!shown.includes(text), `it told ${text}, which belongs to another organization`);
	}
}

async function takesAnything(world: FeatureWorld, sent: Prepared): Promise<void> {
	const { method, path, route } = sent;
	const ask = async (changed: Partial<Prepared>, account: Account | null): Promise<void> => {
		const { status, body } = await world.ask({ ...sent, ...changed }, account);
		assert.ok(status < 500, `${JSON.stringify(changed).slice(0, 80)}: ${status} ${JSON.stringify(body)}`);
	};
	const account = route.declared?.need === 'public' ? null : world.owner;
	// Removals would remove it.
	if (method !== 'GET' && method !== 'DELETE' && route.declared?.body) for (const body of HOSTILE) await ask({ body }, account);
	if (method !== 'GET' || !route.path.endsWith('}')) return;
	for (const name of HOSTILE_NAMES) await ask({ path: path.replace(/[^/]*$/, name) }, account);
	await ask({ path: `${path.split('?')[0]}?noSuchParameter=%00` }, account);
}

/** Holds an answer to the schema that its operation declares. */
function assertPromised(
	{ answer, accepted, bare, produces }: Pick<Declared, 'answer' | 'accepted' | 'bare' | 'produces'>,
	given: Answer,
): void {
	if (bare && produces) return;
	const { status, body } = given;
	if (status === 204) return;
	const schema = status === 202 && accepted ? accepted : answer;
	const { error } = schema.validate(bare ? body : body?.data, { convert: false });
	assert.equal(error, undefined, `the answer is not the one that is declared: ${error?.message}`);
}

type Declared = NonNullable<Prepared['route']['declared']>;
