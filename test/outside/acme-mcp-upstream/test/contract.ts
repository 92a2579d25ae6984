import plugin from 'acme-mcp-upstream';
import { CANARY, executorContract, httpBehaviour } from 'gatehouse/testing';

interface Message {
	method: string;
	params?: { arguments?: { text?: unknown } };
}

const answer = (result: object) => ({ type: 'application/json', body: JSON.stringify({ jsonrpc: '2.0', id: 1, result }) });
const said = (text: unknown) =>
	answer({ content: [{ type: 'text', text: typeof text === 'string' ? text : JSON.stringify(text ?? null) }] });

executorContract(plugin, {
	start: (t, behaviour) =>
		httpBehaviour(t, behaviour, {
			echo(body) {
				if (body === '') return { type: 'text/plain', body: '' };
				const { method, params } = JSON.parse(body) as Message;
				return method === 'tools/call' ? said(params?.arguments?.text) : answer({ protocolVersion: '2025-06-18', capabilities: {} });
			},
			fail: { status: 500, type: 'application/json', body: '{"error":"broken"}' },
			tell: (request) => said(request),
			endless: {
				type: 'text/event-stream',
				begin: ': hello\n\n',
				piece: `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${'x'.repeat(4000)}"}}\n\n`,
			},
		}),
	config: (origin, more) => ({ url: `${origin}/mcp`, tool: 'say', token: 'a token of ours', ...more }),
	echoed: ({ content: [block] }) => (block?.type === 'text' ? block.text : undefined),
	bad: [
		{ config: { tool: 'say' }, says: /"url" is required/ },
		{ config: { url: 'ftp://mcp.example', tool: 'say' }, says: /"url"/ },
		{ config: { url: 'https://mcp.example' }, says: /"tool" is required/ },
	],
	timeoutField: 'timeoutMs',
	signed: (request) => ({ ...request, headers: { ...request.headers, 'x-api-key': CANARY } }),
	hasAddress: true,
});
