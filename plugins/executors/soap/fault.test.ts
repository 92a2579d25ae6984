// Faults, and anything else that servers send instead of an answer, are failed runs that say so, bounded and safe to show.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, answer, ENVELOPE_12, enveloped, textOf } from '../../../test/helpers/soap-answers.ts';

const FAULTS: [what: string, answer: Answer, text: string][] = [
	[
		'SOAP 1.1',
		{ status: 500, body: enveloped('<e:Fault><faultcode>e:Client.Auth</faultcode><faultstring>Who are you?</faultstring></e:Fault>') },
		'SOAP fault Client.Auth: Who are you?',
	],
	[
		'a detail',
		{
			status: 500,
			body: enveloped(
				'<e:Fault><faultcode>e:Server</faultcode><faultstring>no</faultstring><detail><s:Refused xmlns:s="urn:shop" n="1"><s:reason>sold out</s:reason></s:Refused></detail></e:Fault>',
			),
		},
		'SOAP fault Server: no\nDetail: {"Refused":{"@n":"1","reason":"sold out"}}',
	],
	[
		'status 200',
		{ body: enveloped('<e:Fault><faultcode>e:Server</faultcode><faultstring>no</faultstring></e:Fault>') },
		'SOAP fault Server: no',
	],
	[
		'SOAP 1.2',
		{
			status: 400,
			headers: { 'content-type': 'application/soap+xml' },
			body: enveloped(
				'<e:Fault><e:Code><e:Value>e:Sender</e:Value><e:Subcode><e:Value xmlns:m="urn:m">m:BadOrder</e:Value></e:Subcode></e:Code><e:Reason><e:Text xml:lang="en">Bad</e:Text></e:Reason><e:Detail>text</e:Detail></e:Fault>',
				'',
				ENVELOPE_12,
			),
		},
		'SOAP fault Sender (BadOrder): Bad\nDetail: text',
	],
	[
		'characters that would move a cursor',
		{ status: 500, body: enveloped('<e:Fault><faultcode>e:X&#x202e;Y</faultcode><faultstring>a&#x9b;2J&#x200b;b</faultstring></e:Fault>') },
		'SOAP fault XY: a2Jb',
	],
	['nothing in it', { status: 500, body: enveloped('<e:Fault/>') }, 'SOAP fault: no reason is given.'],
	[
		'much in it',
		{
			status: 500,
			body: enveloped(
				`<e:Fault><faultcode>${'c'.repeat(500)}</faultcode><faultstring>${'s'.repeat(5_000)}</faultstring><detail>${'d'.repeat(9_000)}</detail></e:Fault>`,
			),
		},
		`SOAP fault ${'c'.repeat(100)}…: ${'s'.repeat(1000)}…\nDetail: ${'d'.repeat(2048)}…`,
	],
];

for (const [what, given, text] of FAULTS)
	test(`A fault with ${what} is a failed run that says so`, async (t) => {
		const result = await answer(t, given);
		assert.deepEqual(result, { content: [{ type: 'text', text }], isError: true });
	});

const ELSE: [what: string, answer: Answer, says: RegExp][] = [
	['401 in HTML', { status: 401, headers: { 'content-type': 'text/html' }, body: '<h1>no</h1>' }, /^HTTP 401 Unauthorized\nno$/],
	['500 with an envelope and no fault', { status: 500, body: enveloped('<x/>') }, /^HTTP 500 Internal Server Error\n</],
	[
		'HTML',
		{ headers: { 'content-type': 'text/html' }, body: '<html><br></html>' },
		/^HTTP 200 OK, but the answer cannot be read: line 1, column 17: .*\n<html>/,
	],
	['XML that is not SOAP', { body: '<r/>' }, /but the answer cannot be read: it is XML, but not a SOAP envelope with a body\.\n<r\/>$/],
	['another element', { body: enveloped('<other/>') }, /it holds other, not Do\./],
	['an empty body', { body: enveloped('') }, /it holds nothing, not Do\./],
	[
		'a DOCTYPE',
		{ body: `<!DOCTYPE e [<!ENTITY x SYSTEM "file:///etc/passwd">]>${enveloped('<Do>&x;</Do>').replace(/^<\?xml[^>]*>/, '')}` },
		/a DOCTYPE is not allowed/,
	],
	['a bomb of entities', { body: '<!DOCTYPE l [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><l>&b;</l>' }, /a DOCTYPE is not allowed/],
	['200,000 levels', { body: '<a>'.repeat(200_000) }, /nested deeper than 100 levels/],
	[
		'300,000 elements',
		{ body: enveloped(`<t:Do xmlns:t="urn:t">${'<t:a/>'.repeat(300_000)}</t:Do>`) },
		/more than 200000 elements and attributes/,
	],
	['half a message', { body: enveloped('<Do/>').slice(0, -10) }, /line 1, column \d+: unclosed tag/],
	['several parts without a boundary', { headers: { 'content-type': 'multipart/related' }, body: 'x' }, /no boundary/],
	['parts without end', { headers: { 'content-type': 'multipart/related; boundary=b' }, body: '--b'.repeat(2000) }, /more than 1000 parts/],
	['several parts of which there are none', { headers: { 'content-type': 'multipart/related; boundary=b' }, body: 'x' }, /it has no parts/],
];

for (const [what, given, says] of ELSE)
	test(`An answer of ${what} is a failed run that says so`, async (t) => {
		const result = await answer(t, given);
		assert.equal(result.isError, true);
		assert.match(textOf(result), says);
		assert.ok(textOf(result).length < 4_000);
	});
