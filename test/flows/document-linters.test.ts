// Tests the document with Redocly and Spectral, each with the rules that it recommends.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';
import { sampled } from '../helpers/sampled.ts';
import { type SharedService, send, sharedService } from '../helpers/service.ts';

/** Accepted findings, each with the reason why it stays. */
const REASONS: Record<string, string> = {
	'spectral info-contact': 'Whoever runs a service is the one to ask, and this project does not know them.',
};

/** A provider's config is described whole for its users; in bodies its fields are members beside others, so that nothing refers to it. */
const isOfProvider = ([rule, message]: Finding): boolean => rule.includes('unused-component') && /schemas\/provider\.\w+$/.test(message);

let service: SharedService;
let text: string;
before(async () => {
	service = await sharedService();
	text = JSON.stringify((await send(`${service.url}/openapi.json`, 'GET')).body);
});
after(() => service.stop());

/** A finding of any severity, as the rule and its message. */
type Finding = [rule: string, message: string];

async function lintWithRedocly(source: string): Promise<Finding[]> {
	const config = await createConfig({ extends: ['recommended'] });
	const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
	return problems.map(({ ruleId, message, location }) => [`redocly ${ruleId}`, `${message} at ${location[0]?.pointer}`]);
}

async function lintWithSpectral(source: string): Promise<Finding[]> {
	const spectral = new spectralCore.Spectral();
	// Spectral's types for its own rules demand more than its code does.
	spectral.setRuleset({ extends: [spectralRulesets.oas as RulesetDefinition] });
	const results = await spectral.run(JSON.parse(source));
	return results.map(({ code, message, path }) => [`spectral ${code}`, `${message} at ${path.join('/')}`]);
}

/** Returns the document with a part of its paths, since Spectral takes ten seconds of CPU time more for all, and with what they refer to. */
function sampleOf(source: string): string {
	const document = JSON.parse(source);
	const paths = Object.fromEntries(sampled(Object.entries(document.paths), 5));
	// Schemes of security are referred to by their names.
	const { securitySchemes = {}, ...named } = document.components as Record<string, Record<string, unknown>>;
	const kept: Record<string, Record<string, unknown>> = { securitySchemes };
	const open: unknown[] = [paths];
	for (const part of open)
		for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(/"#\/components\/(\w+)\/([^"/]+)/g)) {
			if (named[kind]?.[name] === undefined || kept[kind]?.[name] !== undefined) continue;
			kept[kind] = { ...kept[kind], [name]: named[kind][name] };
			open.push(named[kind][name]);
		}
	return JSON.stringify({ ...document, paths, components: kept });
}

test('Redocly and Spectral have nothing to say of the document but what has a reason', async () => {
	const findings = [...(await lintWithRedocly(text)), ...(await lintWithSpectral(sampleOf(text)))];
	const unexplained = findings.filter((finding) => REASONS[finding[0]] === undefined && !isOfProvider(finding));
	assert.deepEqual(unexplained, [], 'mend the document, or say in REASONS why it stays as it is');
	const said = new Set(findings.map(([rule]) => rule));
	const idle = Object.keys(REASONS).filter((rule) => !said.has(rule));
	assert.deepEqual(idle, [], 'nothing needs these reasons any more');
});

test('both would have said it: a path twice, a response that nobody refers to', async () => {
	const { openapi, info, servers, paths, components } = JSON.parse(text);
	const path = paths['/gateways/{id}'];
	// A whole document takes both some ten seconds of CPU time.
	const broken = {
		openapi,
		info,
		servers,
		paths: { '/gateways/{id}': path, '/gateways/{other}': path },
		components: { ...components, schemas: {} },
	};
	broken.components.responses = { ...components.responses, Unused: { description: 'Nobody refers to it.' } };
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
