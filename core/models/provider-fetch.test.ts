// Tests what a refusal of a model provider says.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpUpstream } from '../../test/helpers/upstream.ts';
import { providerFetch } from './provider-fetch.ts';

const refused = { code: 400, message: 'Please use a valid role.', status: 'INVALID_ARGUMENT' };

for (const [form, body] of Object.entries({ 'an object': { error: refused }, 'a list, as Gemini writes it': [{ error: refused }] }))
	test(`the reason of a refusal is told where it comes in ${form}`, async (t) => {
		const { origin } = await httpUpstream(t, (_request, response) => response.writeHead(400).end(JSON.stringify(body)));
		const send = providerFetch({
			signal: new AbortController().signal,
			async stream({ url }) {
				const { status, headers, body: sent } = await fetch(url);
				return { url, status, headers: Object.fromEntries(headers), body: sent ?? assert.fail() };
			},
		});
		await assert.rejects(send(origin), { message: 'The model provider refused the request (400): Please use a valid role.' });
	});
