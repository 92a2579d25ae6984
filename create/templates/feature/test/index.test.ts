import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Server, ServerRoute } from '@hapi/hapi';
import type { Core } from 'gatehouse/features';
import plugin from '../src/index.ts';

/** Collects the routes that the feature registers. */
function routesOf(): ServerRoute[] {
	const routes: ServerRoute[] = [];
	const server = { route: (given: ServerRoute[]) => routes.push(...given) } as unknown as Server;
	plugin.register(server, { maxChars: 10 }, {} as Core);
	return routes;
}

test('each route is below its segment and declares what it needs', () => {
	const routes = routesOf();
	assert.equal(routes.length, 2);
	for (const { path, options } of routes) {
		assert.match(path, /^\/my-plugin\//);
		assert.match(JSON.stringify(options), /"need":"my-plugin:(?:read|write)"/);
	}
});

test('the length of notes has a default that an operator may change', () => {
	assert.deepEqual(plugin.config.validate({}).value, { maxChars: 1000 });
	assert.match(plugin.config.validate({ maxChars: 0 }).error?.message ?? '', /maxChars/);
});
