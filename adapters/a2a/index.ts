// A2A: a gateway as an agent whose skills are its tools, by 1.0 over JSON-RPC and HTTP+JSON and by 0.3 over JSON-RPC, at one address.

import type { TransportAdapter } from '../../core/index.ts';
import { KEY_SET, publicCard, publicKeys } from './card.ts';
import { type Config, config, type Operator, operator } from './config.ts';
import { fail } from './refusals.ts';
import { restRoutes } from './rest.ts';
import { serveRpc } from './rpc.ts';
import { jobs } from './work.ts';

/** A message lies in the record of its task. */
const MAX_BYTES = 512 * 1024;

export default {
	kind: 'transport',
	api: 1,
	name: 'a2a',
	summary: 'The gateway’s tools as skills of an agent, with tasks that outlive requests (Agent2Agent).',
	spec: 'https://a2a-protocol.org/v1.0.0/specification, and 0.3.0 over JSON-RPC',
	config,
	operator,
	jobs,
	fail,
	cors: { send: ['a2a-version', 'a2a-extensions'], read: ['a2a-version', 'a2a-extensions'] },
	routes: [
		{ method: 'POST', path: '/', maxBytes: MAX_BYTES, encodings: ['gzip'], handler: serveRpc },
		{ method: 'GET', path: '/.well-known/agent-card.json', public: true, lists: true, atOrganization: true, handler: publicCard },
		{ method: 'GET', path: '/.well-known/agent.json', public: true, lists: true, atOrganization: true, handler: publicCard },
		{ method: 'GET', path: KEY_SET, public: true, handler: publicKeys },
		...restRoutes.map((route) => ({ ...route, maxBytes: MAX_BYTES })),
	],
} satisfies TransportAdapter<Config, Operator>;
