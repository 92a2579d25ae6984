import { generateKeyPairSync } from 'node:crypto';
import { type TransportSample, transportContract } from '../../testing/index.ts';
import a2a from './index.ts';

const headers = { 'content-type': 'application/json' };
const message = (data: object) => ({ messageId: 'm1', role: 'ROLE_USER', parts: [{ data }] });
const rpc = (name: string, method: string, params: object, has: string): TransportSample => ({
	...{ name, method: 'POST', path: '/', status: 200, has },
	request: { headers, body: { jsonrpc: '2.0', id: 1, method, params } },
});
const echo = { skill: 'echo', arguments: { text: 'hello' } };
const legacy = { message: { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'data', data: echo }] } };

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

transportContract(a2a, {
	config: { discovery: 'full' },
	// Only a key is taken for one, so that no canary can stand for it.
	operator: { signingKey: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) },
	bad: [
		{ config: { discovery: 'none' }, says: /"discovery" must be one of/ },
		{ config: { taskRetentionHours: 0 }, says: /"taskRetentionHours" must be greater/ },
	],
	samples: [
		rpc('a message that calls a tool', 'SendMessage', { message: message(echo) }, '"data":{"text":"hello"}'),
		rpc('one of 0.3', 'message/send', legacy, '"state":"completed"'),
		rpc('a call that fails', 'SendMessage', { message: message({ skill: 'fail', arguments: {} }) }, 'no luck'),
		rpc('a stream', 'SendStreamingMessage', { message: message(echo) }, 'artifactUpdate'),
		rpc('an unknown method', 'Nonsense', {}, '-32601'),
		{
			...{ name: 'a message by HTTP+JSON', method: 'POST', path: '/message:send', status: 200, has: 'TASK_STATE_COMPLETED' },
			request: { path: '/message:send', headers, body: { message: message(echo) } },
		},
		{
			...{ name: 'the card', method: 'GET', path: '/.well-known/agent-card.json', status: 200, has: 'Says it again.' },
			request: { method: 'GET' },
		},
	],
});
