// Tests the jobs that a manifest declares.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Joi from 'joi';
import { Registry } from './registry.ts';

const run = async (): Promise<null> => null;
const transport = (jobs: unknown): unknown => ({
	...{ kind: 'transport', api: 1, name: 'a', summary: 'One.', config: Joi.object({}), jobs },
	routes: [{ method: 'GET', path: '/', handler: async () => ({ status: 200 }) }],
});
const importer = (jobs: unknown): unknown => ({
	...{ kind: 'importer', api: 1, name: 'a', summary: 'One.', config: Joi.object({}), jobs },
	...{ detect: () => 0, parse: run, tool: () => null },
});

test('jobs are declared by name, each with what it may take', () => {
	for (const jobs of [
		undefined,
		{},
		{ send: { run } },
		{ send_all: { run, attempts: 20, timeoutMs: 86_400_000, places: 1, perAccount: 1 } },
	])
		new Registry().add(transport(jobs));
});

const BAD: [title: string, plugin: unknown, fault: RegExp][] = [
	['a function', transport(run), /jobs must be of type object/],
	['a list', transport([{ run }]), /jobs must be of type object/],
	['a handler without run', transport({ send: { attempts: 2 } }), /jobs\.send\.run is missing/],
	['a function as handler', transport({ send: run }), /jobs\.send must be of type object/],
	['a name of other characters', transport({ 'send-all': { run } }), /jobs\.send-all must have a name that matches/],
	['a name that is too long', transport({ ['x'.repeat(33)]: { run } }), /must have a name that matches/],
	['no attempt', transport({ send: { run, attempts: 0 } }), /jobs\.send\.attempts/],
	['too many attempts', transport({ send: { run, attempts: 21 } }), /jobs\.send\.attempts/],
	['more than a day', transport({ send: { run, timeoutMs: 86_400_001 } }), /jobs\.send\.timeoutMs/],
	['a member that handlers do not have', transport({ send: { run, retries: 3 } }), /jobs\.send\.retries is no member/],
	['jobs of an importer', importer({ send: { run } }), /jobs is not for this kind/],
];
for (const [title, plugin, fault] of BAD)
	test(`${title} stops the start with a sentence that names the place`, () => {
		assert.throws(() => new Registry().add(plugin), fault);
	});
