// No route takes a query parameter that it does not declare: mistyped ones are told, not ignored.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fill, ids, makeTenant, managementRoutes, nameOf, type Tenant } from '../helpers/routes.ts';
import { send, startTestService, type TestService } from '../helpers/service.ts';

let service: TestService;
let tenant: Tenant;
before(async () => {
	service = await startTestService();
	tenant = await makeTenant(service, 'queries');
});
after(() => service.stop());

test('every route answers an unknown query parameter with a 400 that names it, and does nothing', async () => {
	// The reference's files are asked for by a browser, which no query of theirs leads astray.
	const routes = managementRoutes(service).filter(({ path }) => !path.startsWith('/docs'));
	assert.ok(routes.length >= 50, `only ${routes.length}`);
	const headers = { authorization: `Bearer ${tenant.account.token}` };
	// Removals first: had one of them been done, others would find nothing.
	for (const route of routes.toSorted((a, b) => a.method.localeCompare(b.method))) {
		for (const name of ['bogus', '__proto__', 'limit[gt]']) {
			const url = `${service.url}${fill(route.path, ids(tenant))}?${encodeURIComponent(name)}=1`;
			const { status, body } = await send(url, route.method.toUpperCase(), { headers });
			const faults = (body.details ?? []).map(({ path }: { path: string }) => path);
			assert.equal(status, 400, `${nameOf(route)} took ${name}`);
			assert.ok(faults.includes(`query/${name}`), `${nameOf(route)}: ${JSON.stringify(body)}`);
		}
	}
});
