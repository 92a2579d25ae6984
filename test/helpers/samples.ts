// Rows for tests, each valid and minimal.

import { randomBytes, randomUUID } from 'node:crypto';
import type { Operation } from '../../core/contract/nouns.ts';
import type { Role } from '../../core/contract/permissions.ts';
import type { ApiRow, ApiToolDraft, GatewayRow, NewImport, NewTool, Store, ToolRow } from '../../core/store/store.ts';

export interface Tenant {
	userId: string;
	organizationId: string;
	slug: string;
}

export async function addTenant(store: Store): Promise<Tenant> {
	const slug = `org-${randomBytes(4).toString('hex')}`;
	const { user, organization } = await store.accounts.register(
		{ email: `${slug}@example.com`, passwordHash: 'hash', firstName: 'Ada', lastName: 'Lovelace' },
		{ name: slug, slugs: [slug] },
	);
	return { userId: user.id, organizationId: organization.id, slug };
}

/** Adds an account with an organization of its own that was also invited into this one. */
export async function addMember(store: Store, { organizationId, userId: invitedBy }: Tenant, role: Role): Promise<string> {
	const { userId, slug } = await addTenant(store);
	const hash = randomBytes(32);
	const expiresAt = new Date(Date.now() + 60_000);
	await store.organizations.invite(organizationId, { email: `${slug}@example.com`, role, invitedBy, expiresAt, hash });
	await store.organizations.accept(hash, userId);
	return userId;
}

type NewApi = Parameters<Store['apis']['create']>[1];

export const addApi = (store: Store, organizationId: string, change: Partial<NewApi> = {}): Promise<ApiRow> =>
	store.apis.create(organizationId, { name: 'Pets', type: 'openapi', baseUrl: 'https://pets.example/v1', description: null, ...change });

/** The run of a new import, which is queued, or begins in this process. */
export const importRun = (
	organizationId: string,
	{ here = false, perAccount = null as number | null } = {},
): Pick<NewImport, 'run' | 'kind'> => ({
	run: {
		...{ organizationId, kind: 'import', definition: null, input: null, trigger: 'manual', priority: 0, deadlineMs: null },
		...{ parentId: null, dedupe: null, here, onLoss: 'resume' },
	},
	kind: { kind: 'import', perAccount, perAccountUnfinished: null, maxLosses: 5 },
});

export const newTool = (change: Partial<NewTool> = {}): NewTool => ({
	name: 'getPet',
	description: 'Reads a pet.',
	type: 'http',
	executor: 'http',
	parameters: { type: 'object', properties: { id: { type: 'string' } } },
	outputSchema: null,
	annotations: {},
	code: null,
	executionConfig: { method: 'GET', url: 'https://pets.example/{id}' },
	...change,
});

export const addTool = (store: Store, organizationId: string, change: Partial<NewTool> = {}): Promise<ToolRow> =>
	store.tools.create(organizationId, randomUUID(), newTool(change));

type NewGateway = Parameters<Store['gateways']['create']>[2];

export const addGateway = (
	store: Store,
	organizationId: string,
	endpoint = '/main',
	change: Partial<NewGateway> = {},
): Promise<GatewayRow> => {
	const gateway = { name: 'Main', type: 'mcp', endpoint, description: null, configuration: {}, ...change };
	return store.gateways.create(organizationId, randomUUID(), gateway);
};

export const operation = (key: string, change: Partial<Operation> = {}): Operation => ({
	key,
	operationId: null,
	name: key.replaceAll(/\W+/g, '_'),
	description: `Does ${key}.`,
	method: 'GET',
	path: `/${key}`,
	tags: [],
	deprecated: false,
	parameters: { type: 'object', properties: {} },
	outputSchema: null,
	definition: { key },
	outcome: 'converted',
	reasons: [],
	...change,
});

/** Returns operations as the writer of an import takes them. */
export const batchOf = (...operations: Operation[]): Uint8Array => Buffer.from(JSON.stringify(operations));

export const draft = (from: { name: string; description: string; parameters: Operation['parameters'] }): ApiToolDraft => ({
	name: from.name,
	description: from.description,
	executor: 'http',
	parameters: from.parameters,
	outputSchema: null,
	annotations: { readOnlyHint: true },
	executionConfig: { method: 'GET' },
	wholeHash: null,
	bodies: 'nested',
	configVersion: 1,
	flattened: null,
	fillable: null,
});

/** The data of a document that `commit` takes. */
export const schema = {
	format: 'openapi 3.1.0',
	title: 'Pets',
	version: '1.0.0',
	servers: ['https://pets.example/v1'],
	sourceUrl: null,
	sizeBytes: 2,
	sha256: '00',
	report: {},
	source: { repetition: null, digest: null },
};

/** Checks the error for text with a NUL or a lone surrogate. */
export const unstorable = (field: string) => (error: { code?: string; details?: { path: string }[] }) =>
	error.code === 'validation_failed' && error.details?.[0]?.path === `/${field}`;
