// Tests which pages of other sites may send requests to a gateway.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Incoming } from '../contract/nouns.ts';
import { refuseForeignPage } from './foreign-pages.ts';

const PAGE = { value: 'https://evil.example', trusted: false };
const ANYBODY = { method: 'none', subject: 'anonymous', scopes: [] };
const NEAR = { allowedIpRanges: ['10.0.0.0/8'] };

for (const [what, isRefused, { origin = PAGE, caller = ANYBODY, rules = {}, publicUrl = 'https://gate.example' }] of [
	['a page of another site, where anybody is admitted by address', true, { rules: NEAR }],
	['one where the service is on its user’s own machine', true, { publicUrl: 'http://localhost:3000' }],
	['one of an open gateway at a public address', false, {}],
	['one whose caller has a name', false, { rules: NEAR, caller: { ...ANYBODY, subject: 'key:1' } }],
	['a page that is trusted', false, { rules: NEAR, origin: { value: 'https://app.example', trusted: true } }],
	['a program', false, { rules: NEAR, origin: { value: null, trusted: false } }],
] as [string, boolean, { origin?: Incoming['origin']; caller?: typeof ANYBODY; rules?: object; publicUrl?: string }][])
	test(`${what} ${isRefused ? 'is refused' : 'passes'}`, () => {
		const ask = () => refuseForeignPage({ origin } as Incoming, { caller, by: { rules } }, { publicUrls: [publicUrl] });
		if (isRefused) assert.throws(ask, { code: 'forbidden' });
		else ask();
	});
