import { httpBehaviour } from '../../../testing/behaviours.ts';
import { executorContract, SECRET } from '../../../testing/executor.ts';
import http from './index.ts';

const TYPE = 'application/json';
const SECRET_PARTS = { text: { headers: { authorization: 'Bearer key' } } };

executorContract(http, {
	start: (t, behaviour) =>
		httpBehaviour(t, behaviour, {
			echo: (body) => ({ type: TYPE, body: body || '{}' }),
			fail: { status: 500, type: TYPE, body: '{"message":"no"}' },
			tell: (request) => ({ type: TYPE, body: request }),
			endless: { type: TYPE, begin: '[1', piece: ',1' },
		}),
	config: (origin, more) => ({ method: 'POST', url: `${origin}/x`, ...more }),
	secretConfig: (origin) => ({
		...{ method: 'POST', url: `${origin}/x`, headers: { authorization: 'Bearer key' } },
		parameters: [{ arg: 'q', name: 'q', in: 'querystring', contentType: 'application/x-www-form-urlencoded', parts: SECRET_PARTS }],
		requestBody: { arg: 'text', contentType: 'multipart/form-data', parts: SECRET_PARTS },
	}),
	echoed: ({ structured }) => (structured as { text: string }).text,
	bad: [
		{ config: { url: 'https://api.example.com' }, says: /"method" is required/ },
		{ config: { method: 'GET' }, says: /"url" is required/ },
		{ config: { method: 'GET', url: 'https://{host}/' }, says: /"url" must be/ },
		{ config: { method: 'GET', url: '/a', headers: { host: 'x' } }, says: /"headers".*set by the gateway/ },
	],
	timeoutField: 'timeoutMs',
	hasAddress: true,
	signed: (request) => ({
		...request,
		url: `${request.url}?key=${SECRET}`,
		headers: { ...request.headers, authorization: `Basic ${Buffer.from(`ada:${SECRET}`).toString('base64')}`, 'x-key': SECRET },
	}),
});
