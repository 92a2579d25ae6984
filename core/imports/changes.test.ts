// The counts and the list of the changes of an import.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draft, operation } from '../../test/helpers/samples.ts';
import { createImportReader } from './changes.ts';

const counts = { operations: 0, added: 0, removed: 0, isFirst: false, toolsUpdated: 0 };

test('long names are cut, as many as fit are listed, and the others are counted', () => {
	const reader = createImportReader(draft);
	for (let index = 0; index < 2_000; index++) reader.moved('removed', { key: `${index} ${'x'.repeat(5_000)}`, name: 'y'.repeat(5_000) });
	const { operations, unlisted } = reader.finish({ ...counts, removed: 2_000 });
	assert.ok(JSON.stringify(operations).length < 700_000);
	assert.ok(operations.length > 500);
	assert.equal(unlisted, 2_000 - operations.length);
	assert.equal(operations[0]?.key.length, 300);
});

test('an operation written differently with the same meaning is unchanged, but a restored one is always reported', async () => {
	const reader = createImportReader(draft);
	const { key, name, ...before } = operation('a', { parameters: { type: 'object', required: ['x', 'y'] } });
	const { key: _key, name: _name, ...after } = operation('a', { parameters: { required: ['y', 'x'], type: 'object' } });
	await reader.differs({ key, name, isRestored: false, before, after });
	await reader.differs({ key: 'b', name: 'b', isRestored: true, before, after });
	const { operations, unlisted, ...told } = reader.finish({ ...counts, operations: 3 });
	assert.deepEqual([told.unchanged, told.changed, told.restored, told.breaking, told.additive, told.text, unlisted], [2, 0, 1, 0, 0, 0, 0]);
	assert.deepEqual(operations, [{ key: 'b', name: 'b', change: 'restored', kind: null, reasons: [] }]);
});

test('the event loop stays free while thousands of operations are compared', async () => {
	const reader = createImportReader(draft);
	const { key, name, ...before } = operation('a', {
		parameters: {
			type: 'object',
			properties: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`p${index}`, { minimum: 1 }])),
		},
	});
	const after = { ...before, parameters: JSON.parse(JSON.stringify(before.parameters).replaceAll('"minimum":1', '"minimum":0')) };
	let turns = 0;
	const ticks = setInterval(() => turns++, 1);
	for (let index = 0; index < 300; index++) await reader.differs({ key, name, isRestored: false, before, after });
	clearInterval(ticks);
	assert.ok(turns > 5, `${turns}`);
});
