// Tests that answers about organizations and their members match the document, and that the audit log has the changes.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Judge, readDocument } from '../../../test/helpers/document.ts';
import { type Account, type Answer, registerAccount, type SharedService, sharedService } from '../../../test/helpers/service.ts';

let service: SharedService;
let owner: Account;
let judge: Judge;
before(async () => {
	service = await sharedService();
	owner = await registerAccount(service.url);
	judge = await readDocument(service.url);
});
after(() => service.stop());

async function judged(operation: string, answer: Promise<Answer>): Promise<Answer> {
	const given = await answer;
	assert.equal(judge.fault(operation, given), null, `${operation}: ${JSON.stringify(given.body)}`);
	return given;
}

test('every answer is what its page promises, from the invitation to the farewell', async () => {
	const guest = await registerAccount(service.url);
	const path = `/organizations/${owner.organization.id}`;
	await judged('GET /organizations', owner.get('/organizations'));
	await judged('GET /organizations/{orgId}', owner.get(path));
	await judged('PATCH /organizations/{orgId}', owner.patch(path, { name: 'Renamed' }));
	const sent = await judged('POST /organizations/{orgId}/invitations', owner.post(`${path}/invitations`, { email: guest.email }));
	await judged('GET /organizations/{orgId}/invitations', owner.get(`${path}/invitations`));
	await judged('POST /invitations/accept', owner.post('/invitations/accept', { token: sent.body.data.token }));
	await judged('POST /invitations/accept', guest.post('/invitations/accept', { token: sent.body.data.token }));
	await judged('POST /invitations/accept', guest.post('/invitations/accept', { token: sent.body.data.token }));
	const { members } = (await judged('GET /organizations/{orgId}/members', owner.get(`${path}/members`))).body.data;
	const [owning, joined] = members.map(({ userId }: { userId: string }) => `${path}/members/${userId}`);
	await judged('PATCH /organizations/{orgId}/members/{userId}', owner.patch(owning, { role: 'viewer' }));
	await judged('PATCH /organizations/{orgId}/members/{userId}', owner.patch(joined, { role: 'viewer' }));
	await judged('DELETE /organizations/{orgId}/members/{userId}', guest.del(owning));
	await judged('DELETE /organizations/{orgId}/members/{userId}', guest.del(joined));
	const other = await judged('POST /organizations/{orgId}/invitations', owner.post(`${path}/invitations`, { email: 'b@example.com' }));
	const revoking = owner.del(`${path}/invitations/${other.body.data.id}`);
	await judged('DELETE /organizations/{orgId}/invitations/{invitationId}', revoking);
	const entries = (await judged('GET /audit-log', owner.get('/audit-log'))).body.data.entries;
	const types = new Set(entries.map(({ resourceType }: { resourceType: string }) => resourceType));
	assert.deepEqual([...types].sort(), ['invitation', 'member', 'organization']);
	await judged('POST /organizations', owner.post('/organizations', { name: 'Another' }));
});
