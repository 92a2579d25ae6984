// Tests of the profile, and of the slug that a name would get.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addMember } from '../../../test/helpers/members.ts';
import { type Account, must, registerAccount, type SharedService, send, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let account: Account;
before(async () => {
	service = await sharedService();
	account = await registerAccount(service.url, 'Difference Engines');
});
after(() => service.stop());

test('the profile shows the user, and every organization with the role in it', async () => {
	const member = await addMember(account, 'viewer');
	const { data } = must(await member.get('/auth/profile'), 200).body;
	assert.deepEqual(data, {
		id: data.id,
		email: member.email,
		firstName: 'Ada',
		lastName: 'Byron',
		organizations: [
			{ ...member.organization, role: 'owner' },
			{ ...account.organization, role: 'viewer' },
		],
	});
});

const CHANGES: [change: object, firstName: string, lastName: string][] = [
	[{ name: 'Grace Brewster Hopper' }, 'Grace', 'Brewster Hopper'],
	[{ name: '  Ada\t King  Byron ' }, 'Ada', 'King Byron'],
	[{ name: 'Plato' }, 'Plato', ''],
	[{ firstName: 'Ada' }, 'Ada', ''],
	[{ lastName: 'Byron' }, 'Ada', 'Byron'],
	[{ firstName: 'Mary Ann', lastName: '' }, 'Mary Ann', ''],
	[{ firstName: 'Ада', lastName: 'Байрон' }, 'Ада', 'Байрон'],
];
test('a change of the profile answers it as it is now (4.1; decisions, 10)', async () => {
	for (const [change, firstName, lastName] of CHANGES) {
		const { data } = must(await account.patch('/auth/profile', change), 200).body;
		assert.deepEqual([data.firstName, data.lastName], [firstName, lastName], JSON.stringify(change));
		assert.deepEqual(must(await account.get('/auth/profile'), 200).body.data, data);
	}
});

const BAD: [change: unknown, named: RegExp][] = [
	[{}, /name, firstName or lastName/],
	[{ name: 'A B', firstName: 'A' }, /name and firstName/],
	[{ name: 'A B', lastName: 'B' }, /name and lastName/],
	[{ name: '' }, /"name"/],
	[{ name: '  ' }, /"name"/],
	[{ name: 'x'.repeat(201) }, /"name"/],
	[{ name: `${'x'.repeat(101)} y` }, /"name"/],
	[{ name: `x ${'y'.repeat(101)}` }, /"name"/],
	[{ name: ['A'] }, /"name"/],
	[{ firstName: '' }, /"firstName"/],
	[{ lastName: null }, /"lastName"/],
	[{ name: 'A', email: 'new@example.com' }, /"email"/],
	[{ name: 'A', id: 'x' }, /"id"/],
	[{ name: 'A', passwordHash: 'x' }, /"passwordHash"/],
	[[], /"body"/],
	[undefined, /"body"/],
	['{"name":"a\\u0000b"}', /\/name/],
];
for (const [change, named] of BAD) {
	test(`a change of the profile to ${JSON.stringify(change)?.slice(0, 40)} is a 400 that says what is wrong`, async () => {
		const answer = must(await account.patch('/auth/profile', change), 400);
		assert.match(answer.body.message, named);
	});
}

const check = (query: string) => send(`${service.url}/auth/check-organization-name${query}`, 'GET');
const checkName = async (name: string) => must(await check(`?name=${encodeURIComponent(name)}`), 200).body.data;

test('a name that is free gets its own slug, one that is taken or reserved the next', async () => {
	assert.deepEqual(await checkName('Différence Engines & Co.'), { available: true, slug: 'difference-engines-co' });
	assert.deepEqual(await checkName('difference  ENGINES'), { available: false, slug: 'difference-engines-2' });
	assert.deepEqual(await checkName('Gateways'), { available: false, slug: 'gateways-2' });
	// It gets a random slug, which is never taken.
	assert.deepEqual(await checkName('分析机'), { available: true, slug: null });
});

test('the slug that was told is the one that a registration then gets', async () => {
	const { slug } = await checkName('Difference Engines');
	assert.equal((await registerAccount(service.url, 'Difference Engines')).organization.slug, slug);
	assert.equal((await checkName('Difference Engines')).slug, 'difference-engines-3');
});

for (const query of ['', '?name=', '?name=%20', '?name=a&name=b', `?name=${'x'.repeat(201)}`, '?name=%00']) {
	test(`check-organization-name${query.slice(0, 20)} is a 400 that names it`, async () => {
		assert.equal(must(await check(query), 400).body.details[0].path, 'query/name');
	});
}
