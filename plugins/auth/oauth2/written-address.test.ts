// Tests the spellings of an address.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writtenAddress } from './written-address.ts';

const BASE = 'https://gate.example/acme/main';
const WRITTEN: [target: string, path: string][] = [
	['/acme/main', '/acme/main'],
	['/acme/main/', '/acme/main/'],
	['/acme/main/?a=/@b/', '/acme/main/'],
	['/acme/main?a=/', '/acme/main'],
	['/@acme/main', '/@acme/main'],
	['/@acme/main/', '/@acme/main/'],
	['/@acme/main/token', '/@acme/main'],
	['/@acme/main/.well-known/x', '/@acme/main'],
	['/.well-known/x/acme/main', '/acme/main'],
	['/.well-known/x/acme/main/', '/acme/main/'],
	['/.well-known/x/@acme/main/', '/@acme/main/'],
	['https://other.example/@acme/main/', '/@acme/main/'],
	['/acme/main//', '/acme/main'],
	['/acme/main/token/', '/acme/main'],
	['/acme/main.git/', '/acme/main'],
	['/.well-known/', '/acme/main'],
	['//evil.example/@x/', '/acme/main'],
	['*', '/acme/main'],
];
for (const [target, path] of WRITTEN)
	test(`the target ${target} writes an address as ${path}`, () =>
		assert.equal(writtenAddress(target, BASE), `https://gate.example${path}`));
