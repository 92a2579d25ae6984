// Tests which operations, summaries, certainties and drafts of an importer are accepted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operation } from '../../test/helpers/samples.ts';
import { checkCertainty, checkDraft, checkIntrospected, checkNormalized, checkOperation, checkSummary } from './check-importer.ts';

const OPERATION = operation('getPet');
const SUMMARY = { format: 'acme 1', title: null, version: null, servers: [] };
const DRAFT = {
	name: 'getPet',
	description: '',
	executor: 'http',
	parameters: {},
	outputSchema: null,
	annotations: {},
	executionConfig: {},
};

const WRONG: [title: string, check: () => unknown, fault: RegExp][] = [
	['an operation that is none', () => checkOperation('acme', 'getPet'), /yields must be an object/],
	['an operation without a key', () => checkOperation('acme', { ...OPERATION, key: '' }), /a string that is not empty as key/],
	['an operation without parameters', () => checkOperation('acme', { ...OPERATION, parameters: undefined }), /an object as parameters/],
	['an operation with one tag as text', () => checkOperation('acme', { ...OPERATION, tags: 'pets' }), /a list of strings as tags/],
	['an unknown outcome', () => checkOperation('acme', { ...OPERATION, outcome: 'good' }), /one of converted, degraded, skipped as outcome/],
	['no description', () => checkIntrospected('acme', undefined), /that introspect returns must be an object/],
	['a description of bytes', () => checkIntrospected('acme', { text: Buffer.from('x'), url: null }), /a string as text/],
	['a definition that is none', () => checkNormalized('acme', null), /normalize must return an object/],
	['a definition that comes later', () => checkNormalized('acme', Promise.resolve({})), /normalize must return an object, and no promise/],
	['no summary', () => checkSummary('acme', undefined), /returns must be an object/],
	['servers that are none', () => checkSummary('acme', { ...SUMMARY, servers: [7] }), /a list of strings as servers/],
	['credentials that are none', () => checkSummary('acme', { ...SUMMARY, credentials: [{}] }), /a list of credentials/],
	['a draft without a config', () => checkDraft('acme', { ...DRAFT, executionConfig: null }), /an object as executionConfig/],
	[
		'a draft of a bigint',
		() => checkDraft('acme', { ...DRAFT, executionConfig: { a: 1n } }),
		/must be JSON: \/executionConfig\/a is a bigint/,
	],
	['an endless draft', () => checkDraft('acme', { ...DRAFT, description: 'x'.repeat(5_000_000) }), /at most 4194304 characters/],
	...[undefined, '1', Number.NaN, 2, -1].map(
		(value) =>
			[`a certainty of ${value}`, () => checkCertainty('acme', value), /detect must return a number from 0 to 1/] as [
				string,
				() => unknown,
				RegExp,
			],
	),
];
for (const [title, check, fault] of WRONG) {
	test(`${title} is a fault of the importer`, () => {
		assert.throws(check, ({ message }: Error) => message.startsWith('importer:acme: ') && fault.test(message));
	});
}

test('complete ones pass unchanged', () => {
	assert.equal(checkOperation('acme', OPERATION), OPERATION);
	assert.equal(checkSummary('acme', SUMMARY), SUMMARY);
	assert.equal(checkDraft('acme', DRAFT), DRAFT);
	for (const sure of [0, 0.5, 1]) assert.equal(checkCertainty('acme', sure), sure);
});
