import plugin from 'acme-a2a';
import { transportContract } from 'gatehouse/testing';

const post = { method: 'POST', path: '/' } as const;
const headers = { 'a2a-version': '1.0' };
const message = (parts: object[]) => ({ messageId: 'm1', role: 'ROLE_USER', parts });
const rpc = (method: string, params: object) => ({ headers, body: { jsonrpc: '2.0', id: 1, method, params } });
const ask = (skill: string, args: object) => ({ message: message([{ data: { skill, arguments: args } }]) });
const echo = ask('echo', { text: 'hello' });

transportContract(plugin, {
	config: { name: 'Echo', textSkill: 'echo' },
	bad: [
		{ config: { name: '' }, says: /"name" is not allowed to be empty/ },
		{ config: { textSkill: 1 }, says: /"textSkill" must be a string/ },
	],
	samples: [
		{
			name: 'a message, when its task has ended',
			...post,
			request: rpc('SendMessage', echo),
			status: 200,
			has: /TASK_STATE_COMPLETED.*"data":\{"text":"hello"\}/,
		},
		{
			name: 'a message of text',
			...post,
			request: rpc('SendMessage', { message: message([{ text: 'hello' }]) }),
			status: 200,
			has: '{"text":"hello"}',
		},
		{ name: 'a skill that fails', ...post, request: rpc('SendMessage', ask('fail', {})), status: 200, has: /TASK_STATE_FAILED.*no luck/ },
		{
			name: 'a message, as a stream',
			...post,
			request: rpc('SendStreamingMessage', echo),
			status: 200,
			has: /"task":.*"artifactUpdate":.*TASK_STATE_COMPLETED/,
		},
		{ name: 'a skill that is not there', ...post, request: rpc('SendMessage', ask('none', {})), status: 200, has: '-32602' },
		{ name: 'a task that is not there', ...post, request: rpc('GetTask', { id: 'none' }), status: 200, has: /-32001.*TASK_NOT_FOUND/ },
		{ name: 'another version', ...post, request: { ...rpc('SendMessage', echo), headers: {} }, status: 200, has: '-32009' },
		{ name: 'an unknown method', ...post, request: rpc('Nothing', {}), status: 200, has: '-32601' },
		{ name: 'its card', method: 'GET', path: '/.well-known/agent-card.json', status: 200, has: /"protocolBinding":"JSONRPC".*"id":"echo"/ },
	],
});
