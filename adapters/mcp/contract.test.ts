import { type TransportSample, transportContract } from '../../testing/index.ts';
import mcp from './index.ts';

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const rpc = (name: string, method: string, params: object, has: string): TransportSample => ({
	...{ name, method: 'POST', path: '/', status: 200, has },
	request: { headers, body: { jsonrpc: '2.0', id: 1, method, params } },
});
const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };

transportContract(mcp, {
	config: { instructions: 'Be brief.' },
	bad: [
		{ config: { allowedOrigins: ['nonsense'] }, says: /"allowedOrigins\[0\]"/ },
		{ config: { instructions: 1 }, says: /"instructions" must be a string/ },
	],
	samples: [
		rpc('a call of a tool', 'tools/call', { name: 'echo', arguments: { text: 'hello' } }, 'hello'),
		rpc('a call that fails', 'tools/call', { name: 'fail', arguments: {} }, 'no luck'),
		rpc('the list of tools', 'tools/list', {}, 'Says it again.'),
		rpc('a handshake', 'initialize', initialize, 'Be brief.'),
		rpc('an unknown method', 'nonsense', {}, '-32601'),
	],
});
