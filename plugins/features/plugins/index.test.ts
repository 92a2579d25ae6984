// Tests of GET /plugins over REST.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readDocument } from '../../../test/helpers/document.ts';
import { must, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
before(async () => {
	service = await sharedService();
});
after(() => service.stop());

test('every plugin is listed with its configuration, as the document says; a query is not taken', async () => {
	const account = await registerAccount(service.url);
	const judge = await readDocument(service.url);
	const answer = must(await account.get('/plugins'), 200);
	assert.equal(judge.fault('GET /plugins', answer), null);
	const http = answer.body.data.plugins.find(({ kind, name }: { kind: string; name: string }) => kind === 'executor' && name === 'http');
	assert.equal(http.creatable, true);
	assert.ok(http.config.properties.url);
	for (const { name, api, package: from } of answer.body.data.plugins) assert.deepEqual([api, from], [1, null], name);
	const refused = await account.get('/plugins?kind=auth');
	assert.deepEqual([refused.status, refused.body.details[0].path], [400, 'query/kind']);
});
