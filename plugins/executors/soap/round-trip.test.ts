// Calls against servers and the client of the `soap` package, which reads and writes messages by the WSDL in its own way.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createClientAsync, type IServices } from 'soap';
import type { Json, JsonObject, OutboundRequest, ToolResult } from '../../../core/index.ts';
import { apiAt, loopbackCall } from '../../../test/helpers/executor.ts';
import { fixture, jsonOf, type SoapServer, soapServer, toolFrom } from '../../../test/helpers/soap.ts';
import soap from './index.ts';

type Handler = (args: JsonObject, callback: unknown, headers: unknown) => unknown;

async function serve(
	t: TestContext,
	name: string,
	services: { [service: string]: { [port: string]: { [operation: string]: Handler } } },
): Promise<SoapServer> {
	// The package types handlers by what its own reading gives.
	// It knows only the last of several overloaded operations, and loses the messages of the others.
	const wsdl = fixture(name).replace(/^.*AddTwo.*$/gm, '');
	return soapServer(t, wsdl, services as unknown as IServices);
}

/** The paths of the fixtures' ports. */
const PATHS: { [key: string]: string } = { Weather: '/WeatherWS/Weather.asmx', LiteralService: '/literal', EncodedService: '/encoded' };

async function call(
	t: TestContext,
	{ origin }: SoapServer,
	[name, key]: [string, string],
	args: JsonObject,
	more: JsonObject = {},
): Promise<ToolResult> {
	const { executionConfig } = await toolFrom(name, key, `${origin}/`);
	const endpoint = PATHS[key.split('/')[0] ?? ''] ?? assert.fail(key);
	const config = await soap.config.validateAsync({ ...executionConfig, endpoint, ...more });
	return soap.execute(args, config, loopbackCall(t, { api: apiAt(`${origin}/`) }));
}

const FORECAST = {
	Success: true,
	ResponseText: 'City <Found>',
	State: 'NY',
	City: 'Nü York',
	WeatherStationCity: 'x',
	ForecastResult: {
		Forecast: [
			{
				Date: '2026-01-31T00:00:00',
				WeatherID: 4,
				Desciption: 'Sunny',
				Temperatures: { MorningLow: '1', DaytimeHigh: '2' },
				ProbabilityOfPrecipiation: { Nighttime: '0', Daytime: '5' },
			},
		],
	},
};

for (const version of ['1.1', '1.2'])
	test(`Document style, SOAP ${version}: a real server's types come back`, async (t) => {
		const asked: JsonObject[] = [];
		const handlers: { [operation: string]: Handler } = {
			GetCityForecastByZIP: (args) => {
				asked.push(jsonOf(args));
				return { GetCityForecastByZIPResult: FORECAST };
			},
		};
		const server = await serve(t, 'weather.wsdl', { Weather: { WeatherSoap: handlers, WeatherSoap12: handlers } });
		const { structured, isError } = await call(
			t,
			server,
			['weather.wsdl', 'Weather/WeatherSoap/GetCityForecastByZIP'],
			{ ZIP: '<10001> & "ü"' },
			{ version },
		);
		assert.equal(isError, undefined);
		assert.deepEqual(structured, { GetCityForecastByZIPResult: FORECAST });
		assert.deepEqual(asked, [{ ZIP: '<10001> & "ü"' }]);
	});

test('RPC style, literal and encoded: a real server finds its parts, and their order', async (t) => {
	const asked: { [name: string]: Json } = {};
	const server = await serve(t, 'calculator.wsdl', {
		LiteralService: {
			p: {
				Add: (args) => {
					asked['Add'] = jsonOf(args);
					return { result: Number(args['a']) + Number(args['b']) + Number(args['c']) };
				},
			},
		},
		EncodedService: {
			p: {
				Sum: (args) => {
					asked['Sum'] = jsonOf(args);
					return { total: '9007199254740995', path: { item: [{ x: 1, y: 2 }] } };
				},
			},
		},
	});
	const three = await call(t, server, ['calculator.wsdl', 'LiteralService/Literal/Add/AddThree'], { c: 4, b: 3, a: 2 });
	assert.deepEqual(three.structured, { result: 9 }, JSON.stringify(three));
	// The package does not read the parts of rpc style by their types.
	assert.deepEqual(asked['Add'], { a: '2', b: '3', c: '4' });
	const sum = await call(t, server, ['calculator.wsdl', 'EncodedService/Encoded/Sum'], { numbers: ['1', 2], at: { x: 1, y: 2 } });
	assert.deepEqual(sum.structured, { total: '9007199254740995', path: [{ x: 1, y: 2 }] });
	assert.match(server.requests.at(-1)?.body ?? '', /<item xsi:type="xsd:long">1<\/item>/);
	assert.deepEqual(Object.keys(asked['Sum'] as JsonObject), ['attributes', 'numbers', 'at']);
});

test('A fault of a real server is a failed run with code and detail', async (t) => {
	const fail: Handler = () => {
		throw { Fault: { faultcode: 'soap:Server.Calc', faultstring: 'cannot', detail: { reason: 'overflow' }, statusCode: 500 } };
	};
	const server = await serve(t, 'calculator.wsdl', { LiteralService: { p: { Fail: fail } }, EncodedService: { p: { Fail: fail } } });
	const { isError, content } = await call(t, server, ['calculator.wsdl', 'LiteralService/Literal/Fail'], { a: 1, b: 2 });
	assert.deepEqual([isError, content], [true, [{ type: 'text', text: 'SOAP fault Server.Calc: cannot\nDetail: {"reason":"overflow"}' }]]);
});

test('Headers reach a real server, which accepts UsernameTokens and answers wrong ones with a fault', async (t) => {
	const seen: unknown[] = [];
	const handlers: { [operation: string]: Handler } = {
		GetCityWeatherByZIP: (_args, _callback, headers) => {
			seen.push(headers);
			return { GetCityWeatherByZIPResult: { Success: true, WeatherID: 1 } };
		},
	};
	const server = await serve(t, 'weather.wsdl', { Weather: { WeatherSoap: handlers, WeatherSoap12: handlers } });
	server.server.authenticate = (security: {
		UsernameToken?: { Username?: string | { $value: string }; Password?: { $value: string } };
	}) => {
		const { Username, Password } = security?.UsernameToken ?? {};
		return (typeof Username === 'object' ? Username.$value : Username) === 'ada' && Password?.$value === 'secret';
	};
	const run = async (password: string): Promise<ToolResult> => {
		const api = apiAt(`${server.origin}${PATHS['Weather']}`);
		const { executionConfig } = await toolFrom('weather.wsdl', 'Weather/WeatherSoap/GetCityWeatherByZIP', api.baseUrl);
		const authorization = `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;
		const signed = (request: OutboundRequest): OutboundRequest =>
			request.security?.flat().includes('basic_auth') ? { ...request, headers: { ...request.headers, authorization } } : request;
		return soap.execute(
			{ ZIP: '1' },
			await soap.config.validateAsync({ ...executionConfig, wsSecurity: 'text' }),
			loopbackCall(t, { api, signed }),
		);
	};
	assert.deepEqual((await run('secret')).structured, { GetCityWeatherByZIPResult: { Success: true, WeatherID: 1 } });
	assert.match(JSON.stringify(seen), /UsernameToken/);
	const refused = await run('wrong');
	assert.equal(refused.isError, true);
	assert.match(JSON.stringify(refused.content), /Invalid username or password/);
});

test("The package's own client sends a server the same message, but for its prefixes", async (t) => {
	const handlers: { [operation: string]: Handler } = { GetCityForecastByZIP: () => ({ GetCityForecastByZIPResult: FORECAST }) };
	const server = await serve(t, 'weather.wsdl', { Weather: { WeatherSoap: handlers } });
	const client = await createClientAsync(fixture('weather.wsdl').replace(/^\s*/, ''), { endpoint: `${server.origin}${PATHS['Weather']}` });
	await client['GetCityForecastByZIPAsync']({ ZIP: '10001' });
	await call(t, server, ['weather.wsdl', 'Weather/WeatherSoap/GetCityForecastByZIP'], { ZIP: '10001' });
	const [theirs, ours] = server.requests.map(({ body, headers }) => [
		headers['soapaction'],
		body
			.replace(/^.*<soap:Body>|<\/soap:Body>.*$/gs, '')
			.replace(/ xmlns(:\w+)?="[^"]*"/g, '')
			.replace(/(<\/?)\w+:/g, '$1'),
	]);
	assert.deepEqual(ours, theirs);
});
