import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Admission } from '../contract/admission.ts';
import { schemesByName } from './security-schemes.ts';

const row = (method: string, name: string): Admission => ({ method, required: false, scheme: { type: 'apiKey', in: 'header', name } });

test('rows of one method that expect different things have schemes of their own, and others share one', () => {
	const admission: Admission[] = [
		...[row('api_key', 'X-Old'), row('jwt', 'X-Old'), row('api_key', 'X-New'), row('api_key', 'X-Old'), row('api_key', 'X-Third')],
		...[
			{ method: 'secretive', required: false },
			{ method: 'none', required: false, scheme: null },
		],
	];
	assert.deepEqual(
		[...schemesByName(admission)].map(([name, scheme]) => [name, 'name' in scheme && scheme.name]),
		[
			['api_key', 'X-Old'],
			['jwt', 'X-Old'],
			['api_key_2', 'X-New'],
			['api_key_3', 'X-Third'],
		],
	);
});
