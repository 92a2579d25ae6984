import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CredentialHealth } from './credential-health.ts';

const API = { id: 'a', organizationId: 'o' };

function watched(): { health: CredentialHealth; told: boolean[] } {
	const [health, told] = [new CredentialHealth(), [] as boolean[]];
	health.tell((_api, works) => void told.push(works));
	return { health, told };
}

test('three refusals in a row are told once, an answer in between begins anew, and the next good answer is told', () => {
	const { health, told } = watched();
	for (const status of [401, 401, 200, 401, 401, 404, 401, 401]) health.answered(API, status);
	assert.deepEqual(told, []);
	for (const status of [401, 401, 401]) health.answered(API, status);
	assert.deepEqual(told, [false]);
	// It says nothing about the credential.
	health.answered(API, 500);
	assert.deepEqual(told, [false]);
	for (const status of [200, 200]) health.answered(API, status);
	assert.deepEqual(told, [false, true]);
});

test('a token server that refuses is told at once, and what another replica told is known', () => {
	const { health, told } = watched();
	health.refused(API);
	assert.deepEqual(told, [false]);
	const other = watched();
	other.health.know([API]);
	other.health.refused(API);
	other.health.answered(API, 204);
	assert.deepEqual(other.told, [true]);
});

test('an alert that ended without a good answer, as that of a removed credential, leaves no refusals to the next credential', () => {
	const { health, told } = watched();
	for (const status of [401, 401, 401, 401]) health.answered(API, status);
	health.know([API]);
	health.know([]);
	for (const status of [401, 401]) health.answered(API, status);
	assert.deepEqual(told, [false]);
	health.answered(API, 401);
	assert.deepEqual(told, [false, false]);
});
