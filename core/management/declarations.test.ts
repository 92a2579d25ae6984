// The declarations of features: permissions, audited types, limit classes and segments, and their clashes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRoute } from '@hapi/hapi';
import { auditedIn } from '../../db/audited.ts';
import { assertAudits, claimRoutes, type Declaring, OWN_TYPES, permissionsOfFeatures } from './declarations.ts';

const HOOKS: Declaring = {
	name: 'hooks',
	permissions: { 'hooks:read': 'viewer', 'hooks:write': 'admin' },
	audits: ['hook'],
	limits: { deliveries: { max: 3, seconds: 60 } },
	segments: ['hooks'],
};

test('the least role and all above it have a declared permission, beside our own', () => {
	const { names, of } = permissionsOfFeatures([HOOKS]);
	assert.deepEqual(names.slice(-2), ['hooks:read', 'hooks:write']);
	const having = (['owner', 'admin', 'member', 'viewer'] as const).filter((role) => of(role).includes('hooks:write'));
	assert.deepEqual(having, ['owner', 'admin']);
	assert.ok(of('viewer').includes('hooks:read') && of('viewer').includes('tools:read'));
	assert.ok(!of('viewer').includes('tools:write'));
});

const CLASHES: [id: string, features: Declaring[], expected: RegExp][] = [
	[
		'permission of ours',
		[{ name: 'a', permissions: { 'tools:read': 'viewer' } }],
		/feature:a: the permission "tools:read" belongs to core/,
	],
	[
		'permission of another feature',
		[HOOKS, { name: 'b', permissions: { 'hooks:read': 'owner' } }],
		/feature:b: the permission "hooks:read" belongs to feature:hooks/,
	],
	['permission of another form', [{ name: 'a', permissions: { hooks: 'viewer' } }], /feature:a: the permission "hooks" must match/],
	['type of ours', [{ name: 'a', audits: ['gateway'] }], /feature:a: the audited type "gateway" belongs to core/],
	['type of another feature', [HOOKS, { name: 'b', audits: ['hook'] }], /feature:b: the audited type "hook" belongs to feature:hooks/],
];
for (const [id, features, expected] of CLASHES)
	test(`a ${id} stops the start, naming both`, () => {
		assert.throws(() => {
			permissionsOfFeatures(features);
			assertAudits(features);
		}, expected);
	});

test('our own types are those that the database records', () => {
	assert.deepEqual([...OWN_TYPES].sort(), [...new Set(auditedIn().map(({ type }) => type))].sort());
});

const route = (path: string, limit?: string): RequestRoute =>
	({ method: 'get', path, settings: { plugins: limit === undefined ? {} : { operation: { limit } } } }) as unknown as RequestRoute;

test('routes are marked with their feature and their limit class', () => {
	const [hook, root] = [route('/hooks/{id}', 'deliveries'), route('/')];
	claimRoutes([hook, root], HOOKS);
	assert.equal(hook.settings.plugins?.feature, 'hooks');
	assert.deepEqual(hook.settings.plugins?.limitClass, { name: 'class:hooks:deliveries', max: 3, seconds: 60 });
	assert.equal(root.settings.plugins?.limitClass, undefined);
});

test('a route below no declared segment, or with an unknown limit class, stops the start, naming the route', () => {
	assert.throws(
		() => claimRoutes([route('/hookshot')], HOOKS),
		/feature:hooks: the route GET \/hookshot is below none of its segments \(hooks\)/,
	);
	assert.throws(() => claimRoutes([route('/x')], { name: 'bare' }), /GET \/x is below none of its segments \(none\)/);
	assert.throws(
		() => claimRoutes([route('/hooks', 'burst')], HOOKS),
		/GET \/hooks has the limit class "burst", which the feature does not declare/,
	);
});
