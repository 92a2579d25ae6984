import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NAME_CHARS, type Named, nameOperations } from './tool-names.ts';

const operation = (operationId: string | null, path = '/x', method = 'GET'): Named => ({ method, path, operationId });

test('a name is the operationId with invalid characters replaced', () => {
	assert.deepEqual(nameOperations([operation('repos/list-for.user')]), ['repos_list-for_user']);
	assert.deepEqual(nameOperations([operation('  __Über Ids!__ ')]), ['ber_Ids']);
});

test('without an operationId a name is method and path', () => {
	assert.deepEqual(nameOperations([operation(null, '/pets/{petId}')]), ['get_pets_petId']);
	assert.deepEqual(nameOperations([operation('日本', '/')]), ['get']);
});

test('two names that collide ignoring case both get a hash of their operation', () => {
	const names = nameOperations([operation('getPet', '/a'), operation('GetPet', '/b'), operation('other')]);
	assert.match(names[0] ?? '', /^getPet_[0-9a-f]{8}$/);
	assert.match(names[1] ?? '', /^GetPet_[0-9a-f]{8}$/);
	assert.equal(names[2], 'other');
});

test('a name keeps to its length with the hash in it', () => {
	const [name] = nameOperations([operation('a'.repeat(200))]);
	assert.equal(name?.length, MAX_NAME_CHARS);
	assert.match(name ?? '', /^a+_[0-9a-f]{8}$/);
});

test('names do not depend on the order of operations', () => {
	const operations = [
		operation('x', '/1'),
		operation('X', '/2'),
		operation('y'),
		operation('b'.repeat(90)),
		operation(`${'b'.repeat(89)}c`),
	];
	const names = nameOperations(operations);
	assert.deepEqual(nameOperations(operations.toReversed()).toReversed(), names);
	assert.equal(new Set(names).size, names.length);
});

test('an operationId that spells another one’s hashed name collides with nothing', () => {
	const twins = [operation('x', '/1'), operation('X', '/2')];
	const [taken = ''] = nameOperations(twins);
	const names = nameOperations([...twins, operation(taken, '/3')]);
	assert.equal(new Set(names.map((name) => name.toLowerCase())).size, 3);
});

test('identical operations get names of their own, and naming them ends', () => {
	const same = { method: 'GET', path: '/a', operationId: 'a' };
	const names = nameOperations([same, same, same]);
	assert.equal(new Set(names).size, 3);
	for (const name of names) assert.match(name, /^a_[0-9a-f]+$/);
});
