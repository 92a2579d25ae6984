// Tests which texts name the resource of a gateway's tokens.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Parameters } from './parameters.ts';
import { assertResource } from './resource.ts';

const CASES: [base: string, own: string[], foreign: string[]][] = [
	[
		'https://gate.example/acme/main',
		[
			'https://gate.example/acme/main',
			'https://gate.example/acme/main/',
			'HTTPS://Gate.Example/acme/main',
			'https://gate.example:443/acme/main/',
			'https://gate.example:/acme/main',
			'https://gate.example/@acme/main',
			'https://gate.example/@acme/main/',
		],
		[
			'http://gate.example/acme/main',
			'http://gate.example:443/acme/main',
			'https://gate.example:8443/acme/main',
			'https://gate.example',
			'https://gate.example/',
			'https://gate.example/acme/Main',
			'https://gate.example/acme/main//',
			'https://gate.example/@@acme/main',
			'https://gate.example/@acme/main//',
			'https://gate.example@acme/main',
			'https://gate.example/%40acme/main',
			'https://gate.example/acme/main?',
			'https://gate.example/acme/main#',
			'https://gate.example/acme/./main',
			'https://gate.example/acme/%6dain',
			'https://gate.example\\acme\\main',
			'https:/gate.example/acme/main',
			'https://a@gate.example/acme/main',
			'https://@gate.example/acme/main',
			'https://gate.example@evil.example/acme/main',
			'https://gate.example.evil.example/acme/main',
			'https://ga\tte.example/acme/main',
			' https://gate.example/acme/main',
			'https://gate.example/acme/main ',
			'ftp://gate.example/acme/main',
			'https://%/acme/main',
			'//gate.example/acme/main',
			'/acme/main',
			'main',
		],
	],
	[
		'http://127.0.0.1:8080/mcp',
		['http://127.0.0.1:8080/mcp', 'HTTP://127.0.0.1:8080/mcp/'],
		['http://127.0.0.1/mcp', 'http://127.0.0.1:80/mcp', 'http://localhost:8080/mcp'],
	],
	['http://gate.example:80/mcp', ['http://gate.example/mcp', 'http://gate.example:80/mcp'], ['https://gate.example:80/mcp']],
];

const check = (base: string, ...resources: string[]) =>
	assertResource(new Parameters(new URLSearchParams(resources.map((resource): [string, string] => ['resource', resource]))), { base });

for (const [base, own, foreign] of CASES)
	test(`tokens of ${base} are for it, however its scheme, host and port are written, and for nothing else`, () => {
		check(base);
		check(base, '');
		check(base, ...own);
		for (const resource of foreign)
			assert.throws(() => check(base, base, resource), { error: 'invalid_target', description: `resource must be ${base}` }, resource);
	});
