// Writes the connection of a new or changed LLM provider: the config of its plugin, checked and sealed.

import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import {
	asGatewayError,
	type Core,
	checkByPlugin,
	configVersion,
	currentConfig,
	expectedVersion,
	GatewayError,
	invalid,
	type JsonObject,
	type LlmProviderChange,
	type LlmProviderRow,
	llmProviderLocation,
	type NewLlmProvider,
	notFound,
	organizationOf,
	saveContext,
	storeOf,
} from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';
import { inMicroDollars } from './present.ts';

interface ConnectionFields {
	apiKey?: string;
	baseUrl?: string;
	options?: JsonObject;
}
export type ProviderBody = Omit<NewLlmProvider, 'connection' | 'configVersion' | 'configuration'> &
	Partial<Pick<NewLlmProvider, 'configuration'>> &
	ConnectionFields;
export type ProviderPatch = Omit<LlmProviderChange, 'connection' | 'configVersion'> & ConnectionFields;

/** The place of a config's fields in bodies, but for two of them. */
const OPTIONS = '/options';
const BESIDE = /^\/options(\/(?:apiKey|baseUrl))(?=\/|$)/;
const HIDDEN = '••••';

export async function addProvider(request: Request, core: Core): Promise<LlmProviderRow> {
	// The body has passed CREATE.
	const { apiKey, baseUrl, options, ...row } = request.payload as ProviderBody;
	const { id: organizationId } = organizationOf(request);
	const id = randomUUID();
	const at = { organizationId, id, name: row.name, provider: row.provider };
	if (!core.registry.get('provider', row.provider)) throw unknownProvider(core);
	const given = restored(at, { ...options, ...connectionOf({ apiKey, baseUrl }) }, {}, core);
	const columns = { configuration: {}, ...row, ...priced(row), ...(await written(at, given, core)) };
	return storeOf(request, core).llmProviders.create(organizationId, id, columns, BOUNDS.providers);
}

export async function changeProvider(request: Request, row: LlmProviderRow, core: Core): Promise<LlmProviderRow> {
	// The body has passed UPDATE.
	const { apiKey, baseUrl, options, ...change } = request.payload as ProviderPatch;
	const { organizationId, id } = row;
	const isTouched = apiKey !== undefined || baseUrl !== undefined || options !== undefined;
	const connection = isTouched ? await written(row, changed(row, { apiKey, baseUrl, options }, core), core) : {};
	// A connection that somebody else changed meanwhile is not written over.
	const expected = expectedVersion(request) ?? (isTouched ? row.version : undefined);
	const updated = await storeOf(request, core).llmProviders.update(
		organizationId,
		id,
		{ ...change, ...priced(change), ...connection },
		expected,
	);
	if (!updated) throw notFound('LLM provider');
	return updated;
}

const priced = ({ prices }: Pick<ProviderPatch, 'prices'>) => (prices ? { prices: inMicroDollars(prices) } : {});

const connectionOf = ({ apiKey, baseUrl }: { apiKey: string | undefined; baseUrl: string | undefined }): JsonObject => ({
	...(apiKey !== undefined && { apiKey }),
	...(baseUrl !== undefined && { baseUrl }),
});

type ProviderIdentity = Pick<LlmProviderRow, 'organizationId' | 'id' | 'name' | 'provider'>;

/** Puts stored secrets in place of `••••`: they go only to the origin for which they were entered. @throws validation_failed */
const restored = (row: ProviderIdentity, given: JsonObject, stored: JsonObject, { registry, secrets }: Core): JsonObject =>
	placed(() => registry.restore('provider', row.provider, given, { stored, at: OPTIONS, secrets, location: llmProviderLocation(row) }));

/** Names the fields of a config that bodies have beside `options` there. @throws what the work throws */
function placed<T>(work: () => T): T {
	try {
		return work();
	} catch (error) {
		const known = asGatewayError(error);
		if (!known?.details.some(({ path }) => BESIDE.test(path))) throw error;
		const details = known.details.map(({ path, message }) => ({ path: path.replace(BESIDE, '$1'), message }));
		throw new GatewayError(known.code, known.message, { details, cause: error });
	}
}

/** Returns the connection with the given fields, and what is stored of the others. */
function changed(
	row: LlmProviderRow,
	{ options, ...fields }: { apiKey: string | undefined; baseUrl: string | undefined; options: JsonObject | undefined },
	core: Core,
): JsonObject {
	if (!core.registry.get('provider', row.provider)) throw unknownProvider(core);
	const stored = currentConfig(core.registry, { kind: 'provider', name: row.provider, config: row.connection, version: row.configVersion });
	const kept = placed(() => core.registry.mask('provider', row.provider, stored, { mask: HIDDEN, at: OPTIONS }));
	const { apiKey, baseUrl } = kept;
	const own = options && { ...(apiKey !== undefined && { apiKey }), ...(baseUrl !== undefined && { baseUrl }), ...options };
	return restored(row, { ...(own ?? kept), ...connectionOf(fields) }, stored, core);
}

/** Checks a connection with its plugin, and seals it. @throws validation_failed, egress_refused */
async function written(row: ProviderIdentity, given: JsonObject, core: Core): Promise<{ connection: JsonObject; configVersion: number }> {
	const { registry, secrets } = core;
	const plugin = registry.get('provider', row.provider);
	if (!plugin) throw unknownProvider(core);
	const config = placed(() => registry.parse('provider', row.provider, given, OPTIONS));
	const { check: checkUrl, checkAddress } = core.models.egressOf(plugin);
	const context = { ...saveContext(core, `provider:${row.provider}`, row.organizationId), checkUrl, checkAddress };
	await checkByPlugin(registry, { kind: 'provider', name: row.provider, config }, context);
	return {
		connection: registry.seal('provider', row.provider, given, secrets, llmProviderLocation(row)),
		configVersion: configVersion(registry, 'provider', row.provider),
	};
}

const unknownProvider = ({ registry }: Core) =>
	invalid(
		'/provider',
		`"provider" must be one of [${registry
			.list('provider')
			.map(({ name }) => name)
			.join(', ')}]`,
	);
