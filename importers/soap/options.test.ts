// The options of an import: which service, which port, and whether messages hold a UsernameToken.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asGatewayError, type JsonObject } from '../../core/index.ts';
import { apiAt } from '../../test/helpers/executor.ts';
import { readWith } from '../../test/helpers/importer.ts';
import { content, documentOf, fixture } from '../../test/helpers/soap.ts';
import importer from './index.ts';

const WEATHER = fixture('weather.wsdl');
const POLICY =
	'<Policy xmlns="http://www.w3.org/ns/ws-policy"><UsernameToken xmlns="http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702"/></Policy>';
const SECURED = documentOf(content('')).replace(/(<binding [^>]*>)/, `$1${POLICY}`);
const TWO_SERVICES = documentOf(content('')).replace(
	'</definitions>',
	'<service name="T"><port name="R" binding="t:B"><soap:address location="http://t.example/other"/></port></service></definitions>',
);

const read = (text: string, options: object) => readWith(importer, text, null, { options });

async function configs(text: string, options: object): Promise<JsonObject[]> {
	const { operations } = await read(text, options);
	return operations.map((operation) => importer.tool(operation, apiAt('https://api.example/x')).executionConfig);
}

test('a port is chosen by its name, and with it the version of SOAP; operations stay the same', async () => {
	const [first, second] = [await read(WEATHER, {}), await read(WEATHER, { port: 'WeatherSoap12' })];
	assert.deepEqual(
		second.operations.map(({ key, name }) => [key, name]),
		first.operations.map(({ key, name }) => [key, name]),
	);
	assert.deepEqual([...new Set((await configs(WEATHER, {})).map(({ version }) => version))], ['1.1']);
	assert.deepEqual([...new Set((await configs(WEATHER, { port: 'WeatherSoap12' })).map(({ version }) => version))], ['1.2']);
});

test('a service is chosen by its name, and the base URL replaces its address', async () => {
	const all = await read(TWO_SERVICES, {});
	assert.deepEqual(
		all.operations.map(({ key }) => key),
		['S/P/Do', 'T/P/Do'],
	);
	assert.deepEqual(
		(await configs(TWO_SERVICES, {})).map(({ endpoint }) => endpoint),
		[undefined, '/other'],
	);
	const { operations, summary } = await read(TWO_SERVICES, { service: 'T' });
	assert.deepEqual([operations.map(({ key }) => key), summary.servers], [['T/P/Do'], ['http://t.example/other']]);
	assert.deepEqual(
		(await configs(TWO_SERVICES, { service: 'T' })).map(({ endpoint }) => endpoint),
		[undefined],
	);
});

test('the option decides about a UsernameToken, whatever the policy of the document', async () => {
	const securityOf = async (text: string, options: object) => (await configs(text, options)).map(({ wsSecurity }) => wsSecurity);
	assert.deepEqual(await securityOf(SECURED, {}), ['text']);
	assert.deepEqual(await securityOf(SECURED, { wsSecurity: 'none' }), [undefined]);
	assert.deepEqual(await securityOf(SECURED, { wsSecurity: 'digest' }), ['digest']);
	assert.deepEqual(await securityOf(documentOf(content('')), { wsSecurity: 'text' }), ['text']);
	assert.deepEqual(await securityOf(documentOf(content('')), { wsSecurity: 'none' }), [undefined]);
});

test('a service or port that is not there, or not over HTTP, is refused with those that are', async () => {
	const cases: [text: string, options: object, path: string, says: RegExp][] = [
		[WEATHER, { service: 'Wether' }, '/options/service', /No service “Wether” .*there are “Weather”\.$/],
		[WEATHER, { port: 'WeatherHttpGet' }, '/options/port', /there are “WeatherSoap”, “WeatherSoap12”\.$/],
		[TWO_SERVICES, { service: 'S', port: 'R' }, '/options/port', /there are “Q”\.$/],
		[WEATHER, { wsSecurity: 'kerberos' }, '/options/wsSecurity', /must be one of \[none, text, digest\]/],
		[WEATHER, { version: '1.2' }, '/options/version', /not allowed/],
	];
	for (const [text, options, path, says] of cases) {
		const error = await read(text, options).then(
			() => assert.fail(JSON.stringify(options)),
			(thrown: unknown) => asGatewayError(thrown) ?? assert.fail(String(thrown)),
		);
		assert.deepEqual([error.code, error.details?.[0]?.path], ['validation_failed', path]);
		assert.match(error.details?.[0]?.message ?? error.message, says);
	}
});
