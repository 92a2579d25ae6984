// The main job, step by step, over the public REST API: an API becomes tools, the tools a gateway, the gateway is called over MCP.

import type { Account, Session } from './account.ts';
import { enter } from './account.ts';
import { KEY_HEADER } from './bookshop/document.ts';
import type { Published } from './connect.ts';
import { callTools } from './conversation.ts';
import { listAll, type Rest } from './rest.ts';
import type { SampleApi } from './sample-api.ts';
import type { Step } from './steps.ts';

const API_NAME = 'Corner Bookshop';
const ENDPOINT = '/shop';
const KEY_NAME = 'demo';

interface Named {
	id: string;
	name: string;
}

interface Gateway extends Named {
	url: string;
	endpoint: string;
}

/** Runs the job. Resources left by a former run are found by listing, and used again. */
export async function doMainJob(step: Step, serviceUrl: string, account: Account, sample: SampleApi): Promise<Published> {
	const { rest, organization } = await logIn(step, serviceUrl, account);
	const api = await connectApi(step, rest, sample);
	await importOperations(step, rest, api, sample);
	const toolIds = await generateTools(step, rest, api, organization.id);
	const gateway = await publishGateway(step, rest, toolIds);
	const key = await protectGateway(step, rest, gateway);
	const published = { url: gateway.url, key };
	await callTools(step, published);
	return published;
}

const logIn = (step: Step, serviceUrl: string, account: Account): Promise<Session> =>
	step('Register, or log in', async () => {
		const session = await enter(serviceUrl, account);
		const { name, slug } = session.organization;
		return { value: session, got: `${account.email} ${session.isNew ? 'registered' : 'logged in'}, organization ${name} (${slug})` };
	});

async function connectApi(step: Step, rest: Rest, sample: SampleApi): Promise<Named> {
	const api = await step('Connect the API', async () => {
		const former = (await listAll<Named>(rest, '/apis', 'apis')).find(({ name }) => name === API_NAME);
		const value = former
			? await rest<Named>('PATCH', `/apis/${former.id}`, { baseUrl: sample.url })
			: await rest<Named>('POST', '/apis', {
					name: API_NAME,
					type: 'openapi',
					baseUrl: sample.url,
					description: 'The sample API of the demo.',
				});
		return { value, got: `${value.name} at ${sample.url}${former ? ', connected by a former run' : ''}` };
	});
	await step('Store its API key', async () => {
		const credentials = { key: sample.apiKey, name: KEY_HEADER, in: 'header' };
		await rest('POST', `/apis/${api.id}/credentials`, { type: 'api_key', credentials });
		return { value: undefined, got: `${sample.apiKey}, sent as ${KEY_HEADER}, encrypted at rest` };
	});
	return api;
}

interface Imported {
	schema: { format: string; title: string; version: string };
	report: { counts: { converted: number; degraded: number; skipped: number } };
}

const importOperations = (step: Step, rest: Rest, api: Named, sample: SampleApi): Promise<void> =>
	step('Import its OpenAPI document', async () => {
		const { schema, report } = await rest<Imported>('POST', `/apis/${api.id}/import-schema`, { schemaUrl: `${sample.url}/openapi.json` });
		const { converted, degraded, skipped } = report.counts;
		const got = `${schema.title} ${schema.version} (${schema.format}): ${converted} converted, ${degraded} degraded, ${skipped} skipped`;
		return { value: undefined, got };
	});

const generateTools = (step: Step, rest: Rest, api: Named, organizationId: string): Promise<string[]> =>
	step('Generate tools', async () => {
		const counts = await rest<Record<'created' | 'updated' | 'unchanged', number>>('POST', `/apis/${api.id}/generate-tools`, {});
		const filters = { apiId: api.id, status: 'active' };
		const tools = await listAll<Named>(rest, `/organizations/${organizationId}/tools`, 'tools', filters);
		const got = `${counts.created} created, ${counts.updated} updated, ${counts.unchanged} unchanged`;
		return { value: tools.map(({ id }) => id), got: `${got}: ${tools.map(({ name }) => name).join(', ')}` };
	});

async function publishGateway(step: Step, rest: Rest, toolIds: string[]): Promise<Gateway> {
	const gateway = await step('Publish a gateway', async () => {
		const former = (await listAll<Gateway>(rest, '/gateways', 'gateways')).find(({ endpoint }) => endpoint === ENDPOINT);
		const value = former ?? (await rest<Gateway>('POST', '/gateways', { name: 'Bookshop', type: 'mcp', endpoint: ENDPOINT }));
		return { value, got: `${value.url} over MCP${former ? ', published by a former run' : ''}` };
	});
	await step('Assign the tools', async () => {
		const { tools } = await rest<{ tools: unknown[] }>('POST', `/gateways/${gateway.id}/tools/bulk`, { toolIds });
		return { value: undefined, got: `${tools.length} tools in one request` };
	});
	return gateway;
}

/** @returns the new key, which is shown only once */
async function protectGateway(step: Step, rest: Rest, { id }: Gateway): Promise<string> {
	await step('Protect it', async () => {
		const { authMethods } = await rest<{ authMethods: { type: string }[] }>('GET', `/gateways/${id}/auth`);
		if (!authMethods.some(({ type }) => type === 'api_key')) await rest('POST', `/gateways/${id}/auth`, { type: 'api_key' });
		return { value: undefined, got: 'callers need an API key (X-API-Key, Bearer or api_key)' };
	});
	return step('Generate a key', async () => {
		const path = `/gateways/${id}/auth/api-keys`;
		const keys = await listAll<Named & { revokedAt: string | null }>(rest, path, 'apiKeys');
		const former = keys.filter(({ name, revokedAt }) => name === KEY_NAME && revokedAt === null);
		for (const old of former) await rest('DELETE', `${path}/${old.id}`);
		const { key } = await rest<{ key: string }>('POST', path, { name: KEY_NAME, scopes: ['tools:read', 'tools:execute'] });
		return { value: key, got: `${key.slice(0, 12)}…, keys of former runs revoked: ${former.length}` };
	});
}
