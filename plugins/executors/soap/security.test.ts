// WS-Security UsernameToken: built by a package, verified here by hand from the profile (OASIS, 1.1.1 §3.1).

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { asGatewayError, attributeOf, type OutboundRequest, parseXml, type XmlElement } from '../../../core/index.ts';
import { isAbout } from '../../../test/helpers/clock.ts';
import { apiAt, loopbackCall, recorder } from '../../../test/helpers/executor.ts';
import { toolFrom } from '../../../test/helpers/soap.ts';
import { enveloped } from '../../../test/helpers/soap-answers.ts';
import { httpUpstream } from '../../../test/helpers/upstream.ts';
import soap from './index.ts';

const WSSE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd';
const PROFILE = 'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0';

/** Signs like core: with the credential of the first alternative that is stored. */
const signer =
	(credential: { [type: string]: string }) =>
	(request: OutboundRequest): OutboundRequest => {
		const asked = request.security?.map((needs) => needs.map(String));
		const types = asked ?? Object.keys(credential).map((type) => [type]);
		const [chosen] = types.find((alternative) => alternative.every((type) => Object.hasOwn(credential, type))) ?? [];
		return chosen === undefined ? request : { ...request, headers: { ...request.headers, authorization: credential[chosen] ?? '' } };
	};

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

async function send(t: TestContext, wsSecurity: 'text' | 'digest', credential: { [type: string]: string }) {
	const upstream = await recorder(t);
	const api = apiAt(`${upstream.origin}/`);
	const { executionConfig } = await toolFrom('shop.wsdl', '/PlaceOrder', api.baseUrl);
	const config = await soap.config.validateAsync({ ...executionConfig, endpoint: `${upstream.origin}/`, wsSecurity });
	const args = {
		id: 'o',
		customer: { zid: 1, name: 'A' },
		line: [{ sku: 'ABC-1', quantity: 1, price: { '@currency': 'EUR', $value: 1 } }],
		card: '1',
		reference: 1,
		header: { Session: { token: 't' } },
	};
	await soap.execute(args, config, loopbackCall(t, { api, signed: signer(credential) }));
	const { headers, body } = upstream.take();
	const root = parseXml(body.toString(), { maxDepth: 20, maxNodes: 200 });
	return { headers, header: root.children.find(({ local }) => local === 'Header'), text: body.toString() };
}

const at = (element: XmlElement | undefined, ...path: string[]): XmlElement =>
	path.reduce<XmlElement | undefined>((found, local) => found?.children.find((child) => child.local === local), element) ??
	assert.fail(path.join('/'));

for (const password of ['s3cr<t&"', 'pässwörd:with:colons', ''])
	test(`A digest of the password ${JSON.stringify(password)} is that of nonce, time and password`, async (t) => {
		const { header, headers, text } = await send(t, 'digest', { basic_auth: basic(`Ada <&>:${password}`) });
		const token = at(header, 'Security', 'UsernameToken');
		assert.equal(at(header, 'Security').uri, WSSE);
		assert.equal(attributeOf(at(header, 'Security'), 'mustUnderstand', 'http://schemas.xmlsoap.org/soap/envelope/'), '1');
		assert.equal(at(token, 'Username').text, 'Ada <&>');
		assert.equal(attributeOf(at(token, 'Password'), 'Type'), `${PROFILE}#PasswordDigest`);
		const nonce = Buffer.from(at(token, 'Nonce').text, 'base64');
		const created = at(token, 'Created').text;
		assert.equal(nonce.length, 16);
		assert.ok(isAbout(created));
		assert.equal(at(token, 'Password').text, createHash('sha1').update(nonce).update(created).update(password).digest('base64'));
		assert.equal(headers['authorization'], undefined, 'it is not sent a second time');
		if (password !== '') assert.ok(!text.includes(password));
		assert.equal(at(header, 'Session', 'token').text, 't', 'other headers stay');
	});

test('The password as text comes with nonce and time, too, and both differ with every call', async (t) => {
	const nonces = new Set<string>();
	for (let count = 0; count < 3; count++) {
		const { header } = await send(t, 'text', { basic_auth: basic('ada:p&<w') });
		const token = at(header, 'Security', 'UsernameToken');
		assert.deepEqual([at(token, 'Username').text, at(token, 'Password').text], ['ada', 'p&<w']);
		assert.equal(attributeOf(at(token, 'Password'), 'Type'), `${PROFILE}#PasswordText`);
		nonces.add(at(token, 'Nonce').text);
		assert.ok(at(token, 'Created').text);
	}
	assert.equal(nonces.size, 3);
});

test('Other credentials are sent in HTTP beside the token; without basic_auth there is no token', async (t) => {
	const both = await send(t, 'digest', { basic_auth: basic('a:b'), bearer_token: 'Bearer x' });
	assert.ok(at(both.header, 'Security'));
	assert.equal(both.headers['authorization'], 'Bearer x');
	const none = await send(t, 'digest', { bearer_token: 'Bearer x' });
	assert.equal(none.headers['authorization'], 'Bearer x');
	assert.deepEqual(
		none.header?.children.map(({ local }) => local),
		['Session'],
	);
});

test('A header of the caller in place of basic_auth is sent in HTTP, and becomes a token if it is Basic', async (t) => {
	const own = await send(t, 'text', { basic_auth: 'Bearer own', bearer_token: 'Bearer own' });
	assert.equal(own.headers['authorization'], 'Bearer own');
	assert.deepEqual(
		own.header?.children.map(({ local }) => local),
		['Session'],
	);
	const named = await send(t, 'text', { basic_auth: basic('ada:own'), bearer_token: basic('ada:own') });
	assert.equal(at(named.header, 'Security', 'UsernameToken', 'Username').text, 'ada');
});

test('A preview, in which a credential is only hinted at, holds a token without it', async (t) => {
	const { header } = await send(t, 'text', { basic_auth: '[basic_auth]' });
	const token = at(header, 'Security', 'UsernameToken');
	assert.deepEqual([at(token, 'Username').text, at(token, 'Password').text], ['…', '…']);
});

for (const credential of ['<![CDATA[x]]><evil/>:b', 'a:<![CDATA[x]]><evil/>]]>', 'a:b\u0000'])
	test(`A credential that cannot be text in the message is refused: ${JSON.stringify(credential)}`, async (t) => {
		await assert.rejects(send(t, 'text', { basic_auth: basic(credential) }), (error) => {
			const ours = asGatewayError(error);
			assert.ok(!ours?.message.includes('evil'));
			return ours?.code === 'validation_failed';
		});
	});

test('Parts of the token that a service repeats are hidden, in results and in faults', async (t) => {
	const password = 'pass<word>&"1';
	const said = password.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
	const results: [status: number, body: string][] = [
		[200, `<Pong xmlns="urn:shop">for ${said}</Pong>`],
		[500, `<e:Fault><faultcode>${said}</faultcode><faultstring>x</faultstring><detail><for>${said}</for></detail></e:Fault>`],
		[500, `<e:Fault><faultcode>e:Server</faultcode><faultstring>for ${said}</faultstring></e:Fault>`],
	];
	for (const [status, body] of results) {
		const upstream = await httpUpstream(t, (_request, response) => {
			response.writeHead(status, { 'content-type': 'text/xml' }).end(enveloped(body));
		});
		const { executionConfig } = await toolFrom('shop.wsdl', '/Ping', upstream.origin);
		const config = await soap.config.validateAsync({ ...executionConfig, endpoint: `${upstream.origin}/`, wsSecurity: 'text' });
		const credential = signer({ basic_auth: basic(`ada:${password}`) });
		const result = await soap.execute({}, config, loopbackCall(t, { signed: credential }));
		const [block] = result.content;
		assert.ok(block?.type === 'text' && block.text.includes('[hidden]'), JSON.stringify(result));
		for (const secret of [password, JSON.stringify(password).slice(1, -1)]) assert.ok(!JSON.stringify(result).includes(secret));
	}
});

test('A message with a token is not sent on by a redirect', async (t) => {
	const elsewhere = await httpUpstream(t, (_request, response) => response.end());
	const upstream = await httpUpstream(t, (_request, response) => response.writeHead(307, { location: `${elsewhere.origin}/` }).end());
	const { executionConfig } = await toolFrom('shop.wsdl', '/Ping', upstream.origin);
	const config = await soap.config.validateAsync({ ...executionConfig, endpoint: `${upstream.origin}/`, wsSecurity: 'text' });
	const result = await soap.execute({}, config, loopbackCall(t, { signed: signer({ basic_auth: basic('a:b') }) }));
	assert.deepEqual([result.isError, elsewhere.connections()], [true, 0]);
});
