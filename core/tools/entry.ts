// A tool with all that running it needs, made of its row.

import type { Checked } from '../arguments/checks.ts';
import { withoutFilled } from '../arguments/filled.ts';
import { GatewayError } from '../contract/errors.ts';
import type { ToolExecutor } from '../contract/kinds.ts';
import type { Api, Flattened, JsonObject, Tool } from '../contract/nouns.ts';
import { quote } from '../kit/clean-text.ts';
import type { LaneApi } from '../lanes/lane.ts';
import { laneOf } from '../lanes/lanes.ts';
import type { NamedPlace, Registry } from '../registry/registry.ts';
import type { Place, Secrets } from '../secrets/envelopes.ts';
import type { ApiRow, CredentialRow, PassedHeader, Store, ToolRow } from '../store/store.ts';
import { isSamePlace, type Signer } from '../upstreams/credentials.ts';

/** Calls of an assigned tool that one caller may make. */
export interface ToolLimit {
	assignmentId: string;
	perMinute: number;
}

export interface Ready {
	executor: ToolExecutor;
	config: JsonObject;
}

/** What is costly of it is made when it is first run. */
export interface ToolEntry extends Checked {
	/** What it takes to make the executor's arguments of the tool's; null where they are the same. */
	flattened: Flattened | null;
	api: Api | null;
	credentials: readonly CredentialRow[];
	/** Which its calls go through; null: none. */
	lane: LaneApi | null;
	/** Callers' own credentials for its API. */
	passThrough: readonly PassedHeader[];
	/** Of this gateway; null: none. */
	limit: ToolLimit | null;
	/** @throws not_implemented when its executor is not loaded, secret_unreadable naming a secret of its config */
	ready(): Ready;
	/** The same with `mask` in place of the config's secrets, none of which is opened. */
	masked(mask: string): Ready;
}

/** `name` that the gateway exposes, as `description`; the tool's own without one. */
export interface EntryAround {
	name?: string;
	description?: string | null;
	api: ApiRow | null;
	credentials: readonly CredentialRow[];
	limit?: ToolLimit | null;
}

export interface EntryParts {
	registry: Registry;
	secrets: Secrets;
	services: () => { store: Store; signer: Signer };
}

export function toolEntry(row: ToolRow, around: EntryAround, { registry, secrets, services }: EntryParts): ToolEntry {
	const parse = (config: JsonObject): JsonObject => registry.parse('executor', row.executor, config, '/executionConfig');
	let made: Ready | null = null;
	const filled = filledArguments(row, around, () => services().signer);
	return {
		tool: describeTool(row, around, filled),
		whole: wholeOf(row, filled, () => services().store),
		filled,
		flattened: row.flattened,
		api: around.api,
		credentials: around.credentials,
		lane: laneOf(around.api),
		passThrough: around.api?.passThrough ?? [],
		limit: around.limit ?? null,
		ready() {
			if (made) return made;
			const executor = executorOf(row, registry);
			made = { executor, config: parse(openedConfig(row, toolConfig(row), { registry, secrets })) };
			return made;
		},
		masked: (mask) => ({
			executor: executorOf(row, registry),
			config: parse(registry.mask('executor', row.executor, toolConfig(row), mask)),
		}),
	};
}

/** Decided whenever credentials change, since entries are made anew then. */
function filledArguments({ fillable }: ToolRow, { api, credentials }: EntryAround, signer: () => Signer): string[] {
	if (!fillable || !api || credentials.length === 0) return [];
	const { origin, security } = fillable;
	const places = signer().places({ url: origin ?? api.baseUrl, ...(security && { security }) }, api, credentials);
	return fillable.arguments.filter((one) => places.some((place) => isSamePlace(place, one))).map(({ argument }) => argument);
}

function wholeOf(
	{ organizationId, operationId, wholeHash, flattened }: ToolRow,
	filled: readonly string[],
	store: () => Store,
): Checked['whole'] {
	if (operationId === null || wholeHash === null) return null;
	return async () => {
		const text = await store().apis.wholeParameters(organizationId, operationId);
		return text === null ? null : { text, flat: flattened?.argument ?? null, without: filled };
	};
}

function executorOf(row: ToolRow, registry: Registry): ToolExecutor {
	const executor = registry.get('executor', row.executor);
	if (!executor) throw new GatewayError('not_implemented', `The executor "${row.executor}" of this tool is not loaded.`);
	return executor;
}

/** `code` stands beside `executionConfig` in the API; to the executor they are one config. */
export const toolConfig = (row: Pick<ToolRow, 'code' | 'executionConfig'>): JsonObject =>
	row.code === null ? row.executionConfig : { ...row.executionConfig, code: row.code };

/** @throws secret_unreadable naming the field and the tool */
export const openedConfig = (row: ToolRow, config: JsonObject, { registry, secrets }: Omit<EntryParts, 'services'>): JsonObject =>
	registry.open('executor', row.executor, config, secrets, namedPlace(row));

/** With the words for a secret that cannot be opened. */
export const namedPlace = ({ organizationId, id, name }: Pick<ToolRow, 'organizationId' | 'id' | 'name'>): NamedPlace => ({
	...toolPlace(organizationId, id),
	of: `the tool ${quote(name)}`,
});

export const toolPlace = (organizationId: string, toolId: string): Place => ({ organizationId, table: 'tools', row: toolId });

const describeTool = (row: ToolRow, { name, description }: EntryAround, filled: readonly string[]): Tool => ({
	id: row.id,
	organizationId: row.organizationId,
	name: name ?? row.name,
	description: description ?? row.description,
	executor: row.executor,
	parameters: withoutFilled(row.parameters, filled),
	outputSchema: row.outputSchema,
	annotations: row.annotations,
	apiId: row.apiId,
	// The parameters are others with each set of arguments that are filled.
	version: [row.version, ...filled].join('+'),
});
