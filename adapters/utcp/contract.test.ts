import { type TransportSample, transportContract } from '../../testing/index.ts';
import utcp from './index.ts';

const run = { method: 'POST', path: '/tools/{name}' } as const;
const json = { 'content-type': 'application/json' };
const sample = (name: string, tool: string, body: unknown, status: number, has: string | RegExp): TransportSample => ({
	...{ ...run, name, status, has },
	request: { params: { name: tool }, headers: json, body },
});

transportContract(utcp, {
	config: { discovery: 'full' },
	bad: [
		{ config: { discovery: 'none' }, says: /"discovery" must be one of/ },
		{ config: { discovered: 'full' }, says: /"discovered" is not allowed/ },
	],
	samples: [
		sample('a call', 'echo', { text: 'hello' }, 200, '{"text":"hello"}'),
		sample('a call whose arguments are wrapped', 'echo', { arguments: { text: 'hello' } }, 200, '{"text":"hello"}'),
		sample('a tool that fails', 'fail', {}, 422, 'no luck'),
		sample('a tool that is not there', 'none', {}, 404, 'TOOL_NOT_FOUND'),
		sample('wrong arguments', 'echo', {}, 400, 'INVALID_PARAMS'),
		{
			...{ name: 'a call in the query', ...run, status: 200, has: '{"text":"hello"}' },
			request: { params: { name: 'echo' }, target: '/?text=hello', query: new URLSearchParams('text=hello') },
		},
		{
			...{
				name: 'a call in an envelope',
				method: 'POST',
				path: '/tools/{name}/invoke',
				status: 200,
				has: /"result":\{"text":"hello"\},"metadata"/,
			},
			request: { params: { name: 'echo' }, headers: json, body: { arguments: { text: 'hello' } } },
		},
		{ name: 'the manual of a caller', method: 'GET', path: '/', status: 200, has: '/tools/echo' },
		{
			name: 'the manual for everybody',
			method: 'GET',
			path: '/.well-known/utcp',
			status: 200,
			has: /"etag".*"utcp_version":"1.1.0".*\/tools\/echo/,
		},
		{ name: 'the list', method: 'GET', path: '/tools', status: 200, has: '{"tools":[{"name":"echo"' },
		{ name: 'one tool', method: 'GET', path: '/tools/{name}', request: { params: { name: 'echo' } }, status: 200, has: '"name":"echo"' },
		{ name: 'the OpenAPI document', method: 'GET', path: '/openapi.json', status: 200, has: '"/tools/echo":{"post"' },
	],
});
