// The contract of features: each request is sent by everybody who must be refused, then by the owner of an organization.

import { featureContract } from 'gatehouse/testing';
import plugin from '../src/index.ts';

const path = '/my-plugin/first';

featureContract(plugin, {
	config: { maxChars: 100 },
	bad: [
		{ config: { maxChars: 0 }, says: /"maxChars" must be greater than or equal to 1/ },
		{ config: { maxChars: 'many' }, says: /"maxChars" must be a number/ },
	],
	samples: [
		{ name: 'a note that is not there', method: 'GET', path, status: 404 },
		// Whoever has another organization writes a note of their own.
		{ name: 'a new note', method: 'PUT', path, body: { text: 'Hello.' }, status: 200, has: '"text":"Hello."', strangers: 200 },
		{ name: 'a note that is too long', method: 'PUT', path, body: { text: 'x'.repeat(101) }, status: 400, strangers: 400 },
		{ name: 'the note', method: 'GET', path, status: 200, has: '"text":"Hello."' },
	],
});
