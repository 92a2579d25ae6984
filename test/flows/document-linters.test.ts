// The document as those read it who check documents for a living: Redocly and Spectral, each with the rules that it recommends.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';
import { send, startTestService, type TestService } from '../helpers/service.ts';

/** What they may say, each with why it stays so. */
const REASONS: Record<string, string> = {
	'spectral info-contact': 'Whoever runs a service is the one to ask, and this project does not know them.',
};

let service: TestService;
let text: string;
before(async () => {
	service = await startTestService();
	text = JSON.stringify((await send(`${service.url}/openapi.json`, 'GET')).body);
});
after(() => service.stop());

/** A rule and what it said, of anything it had to say. */
type Finding = [rule: string, message: string];

async function lintWithRedocly(source: string): Promise<Finding[]> {
	const config = await createConfig({ extends: ['recommended'] });
	const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
	return problems.map(({ ruleId, message, location }) => [`redocly ${ruleId}`, `${message} at ${location[0]?.pointer}`]);
}

async function lintWithSpectral(source: string): Promise<Finding[]> {
	const spectral = new spectralCore.Spectral();
	// The types of its own rules ask for more than it does.
	spectral.setRuleset({ extends: [spectralRulesets.oas as RulesetDefinition] });
	const results = await spectral.run(JSON.parse(source));
	return results.map(({ code, message, path }) => [`spectral ${code}`, `${message} at ${path.join('/')}`]);
}

test('Redocly and Spectral have nothing to say of the document but what has a reason', async () => {
	const findings = [...(await lintWithRedocly(text)), ...(await lintWithSpectral(text))];
	const unexplained = findings.filter(([rule]) => REASONS[rule] === undefined);
	assert.deepEqual(unexplained, [], 'mend the document, or say in REASONS why it stays as it is');
	const said = new Set(findings.map(([rule]) => rule));
	const idle = Object.keys(REASONS).filter((rule) => !said.has(rule));
	assert.deepEqual(idle, [], 'nothing needs these reasons any more');
});

test('both would have said it: a path twice, a response that nobody refers to', async () => {
	const broken = JSON.parse(text);
	broken.paths['/gateways/{other}'] = structuredClone(broken.paths['/gateways/{id}']);
	broken.components.responses.Unused = { description: 'Nobody refers to it.' };
	const source = JSON.stringify(broken);
	const rules = [...(await lintWithRedocly(source)), ...(await lintWithSpectral(source))].map(([rule]) => rule);
	for (const rule of [
		'redocly no-identical-paths',
		'redocly no-unused-components',
		'spectral path-params',
		'spectral oas3-unused-component',
	])
		assert.ok(rules.includes(rule), rule);
});
