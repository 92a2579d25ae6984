// A gateway, a caller, a tool and a request, as a plugin gets them.

import { randomUUID } from 'node:crypto';
import type { Caller, Gateway, Incoming, Tool } from '../core/contract/nouns.ts';

export const ORGANIZATION = '00000000-0000-4000-8000-000000000001';
const USER = '00000000-0000-4000-8000-000000000002';
const GATEWAY = '00000000-0000-4000-8000-000000000003';
const TOOL = '00000000-0000-4000-8000-000000000004';

/** A member of the organization, with all scopes. */
export const sampleCaller = (more: Partial<Caller> = {}): Caller => ({
	...{ method: 'api_key', subject: `user:${USER}`, scopes: ['tools:read', 'tools:execute', 'gateway:read'], userId: USER },
	...more,
});

export const sampleGateway = (more: Partial<Gateway> = {}): Gateway => ({
	...{ id: GATEWAY, organizationId: ORGANIZATION, organizationSlug: 'acme', organizationName: 'Acme', name: 'Main', type: 'mcp' },
	...{ endpoint: '/main', description: null, status: 'active', url: 'https://gatehouse.example/acme/main' },
	...more,
});

export const sampleTool = (more: Partial<Tool> = {}): Tool => ({
	...{ id: TOOL, organizationId: ORGANIZATION, name: 'tool', description: '', executor: 'http', parameters: { type: 'object' } },
	...{ outputSchema: null, annotations: {}, apiId: null, version: '1' },
	...more,
});

/** A request to a gateway. */
export const fakeRequest = (more: Partial<Incoming> = {}): Incoming => ({
	...{ id: randomUUID(), method: 'POST', target: '/acme/main', authority: 'gatehouse.example', path: '/', params: {} },
	...{ query: new URLSearchParams(), headers: {}, body: null, lastEventId: null, address: '192.0.2.1' },
	...{ base: 'https://gatehouse.example/acme/main' },
	...{ publicUrl: 'https://gatehouse.example', origin: { value: null, trusted: true } },
	...more,
});
