import plugin from 'acme-utcp';
import { transportContract } from 'gatehouse/testing';

const echo = { params: { name: 'echo' }, body: { text: 'hello' } };
const run = { method: 'POST', path: '/tools/{name}' } as const;

transportContract(plugin, {
	config: {},
	bad: [
		{ config: { errors: 'html' }, says: /"errors" must be one of/ },
		{ config: { version: '' }, says: /"version" is not allowed to be empty/ },
	],
	samples: [
		{ name: 'a run', ...run, request: echo, status: 200, has: '{"text":"hello"}' },
		{
			name: 'a run as events',
			...run,
			request: { ...echo, headers: { accept: 'text/event-stream' } },
			status: 200,
			has: '"event":"result"',
		},
		{ name: 'a tool that fails', ...run, request: { params: { name: 'fail' }, body: {} }, status: 502, has: 'no luck' },
		{ name: 'a tool that is not there', ...run, request: { params: { name: 'none' }, body: {} }, status: 404, has: 'tool_not_found' },
		{ name: 'wrong arguments', ...run, request: { params: { name: 'echo' }, body: {} }, status: 400, has: 'validation_failed' },
		{
			name: 'the manual for everybody',
			method: 'GET',
			path: '/.well-known/utcp',
			status: 200,
			has: /"etag".*"utcp_version":"1.1.0".*\/tools\/echo/,
		},
		{ name: 'the manual of a caller', method: 'GET', path: '/', status: 200, has: '"body_field":"body"' },
	],
});

transportContract(
	{ ...plugin, name: 'acme_utcp_problems' },
	{
		config: { errors: 'problem', version: '2.0.0' },
		bad: [
			{ config: { errors: 1 }, says: /"errors"/ },
			{ config: { version: 1 }, says: /"version"/ },
		],
		samples: [
			{
				name: 'a refusal as problem details',
				...run,
				request: { params: { name: 'none' }, body: {} },
				status: 404,
				has: /urn:gatehouse:tool_not_found/,
			},
		],
	},
);
