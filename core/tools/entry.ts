// A tool with everything needed to run it, built from its row.

import type { Checked } from '../arguments/checks.ts';
import { withoutFilled } from '../arguments/filled.ts';
import { GatewayError } from '../contract/errors.ts';
import type { ToolExecutor } from '../contract/kinds.ts';
import type { Api, Flattened, Gateway, JsonObject, Tool } from '../contract/nouns.ts';
import { quote } from '../kit/clean-text.ts';
import { deepFreeze } from '../kit/json.ts';
import type { LaneApi } from '../lanes/lane.ts';
import { laneOf } from '../lanes/lanes.ts';
import type { NamedSecretLocation, Registry } from '../registry/registry.ts';
import { loadConfig, loadMaskedConfig, type StoredConfig } from '../registry/stored-configs.ts';
import type { SecretLocation, Secrets } from '../secrets/envelopes.ts';
import type { ApiRow, Confirming, CredentialRow, PassedHeader, Store, ToolRow } from '../store/store.ts';
import { isSamePlace, type Signer } from '../upstreams/credentials.ts';
import type { LookingMethod } from '../upstreams/pass-through.ts';
import type { PayloadKeeper } from './log/payloads.ts';

/** A limit on calls of an assigned tool by one caller. */
export interface ToolLimit {
	assignmentId: string;
	perMinute: number;
}

export interface Ready {
	executor: ToolExecutor;
	config: JsonObject;
}

/** A tool ready to run; its costly parts are created at the first run. */
export interface ToolEntry extends Checked {
	/** The data to convert the tool's arguments into the executor's; null if they are the same. */
	flattened: Flattened | null;
	api: Api | null;
	credentials: readonly CredentialRow[];
	/** The outbound limit that its calls pass through; null if there is none. */
	lane: LaneApi | null;
	/** Headers that carry callers' own credentials to its API. */
	passThrough: readonly PassedHeader[];
	/** The tool's limit in this gateway; null if there is none. */
	limit: ToolLimit | null;
	/** The most bytes of a result; null if there is no limit. */
	maxResultBytes: number | null;
	/** The calls that run only when the client's user confirms them; null: none. */
	confirm: Confirming | null;
	/** Keeps arguments and results for the request log; null: nothing is kept. */
	payloads: PayloadKeeper | null;
	/** The gateway at which the tool is called, and its methods; absent where they are those of the call. */
	at?: { gateway: Gateway; methods: readonly LookingMethod[] };
	/** Prepares executor and config. @throws not_implemented if the executor is not loaded, UnfitConfig, secret_unreadable naming a secret */
	ready(): Ready;
	/** Like `ready`, with `mask` for each secret of the config; no secret is opened. */
	masked(mask: string): Ready;
}

/** The name and description that a gateway gives the tool (default: its own), and its API. */
export interface EntryAround {
	name?: string;
	description?: string | null;
	api: ApiRow | null;
	credentials: readonly CredentialRow[];
	limit?: ToolLimit | null;
	maxResultBytes?: number | null;
	confirm?: Confirming | null;
	payloads?: PayloadKeeper | null;
	tags?: readonly string[];
}

export interface EntryParts {
	registry: Registry;
	secrets: Secrets;
	services: () => { store: Store; signer: Signer };
}

export function toolEntry(row: ToolRow, around: EntryAround, { registry, secrets, services }: EntryParts): ToolEntry {
	let made: Ready | null = null;
	const filled = filledArguments(row, around, () => services().signer);
	return {
		tool: describeTool(row, around, filled),
		whole: wholeOf(row, filled, () => services().store),
		filled,
		assertsFormats: row.apiId === null || registry.get('executor', row.executor)?.assertsFormats === true,
		flattened: row.flattened,
		api: deepFreeze(around.api),
		credentials: around.credentials,
		lane: laneOf(around.api),
		passThrough: around.api?.passThrough ?? [],
		limit: around.limit ?? null,
		maxResultBytes: around.maxResultBytes ?? null,
		confirm: around.confirm ?? null,
		payloads: around.payloads ?? null,
		ready() {
			if (made) return made;
			const executor = executorOf(row, registry);
			made = { executor, config: loadConfig(registry, storedTool(row), secrets, namedToolLocation(row)) };
			return made;
		},
		masked: (mask) => ({
			executor: executorOf(row, registry),
			config: loadMaskedConfig(registry, storedTool(row), mask, namedToolLocation(row)),
		}),
	};
}

/** Returns the arguments that credentials supply. Evaluated when an entry is built, which happens after each change of a credential. */
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

/** `code` is stored beside `executionConfig`; the executor gets both as one config. */
export const toolConfig = (row: Pick<ToolRow, 'code' | 'executionConfig'>): JsonObject =>
	row.code === null ? row.executionConfig : { ...row.executionConfig, code: row.code };

/** The stored config of a tool, `code` included. */
export const storedTool = (row: Pick<ToolRow, 'executor' | 'code' | 'executionConfig' | 'configVersion'>): StoredConfig => ({
	kind: 'executor',
	name: row.executor,
	config: toolConfig(row),
	version: row.configVersion,
});

/** Opens the secrets of a config. @throws secret_unreadable naming the field and the tool */
export const openedConfig = (row: ToolRow, config: JsonObject, { registry, secrets }: Omit<EntryParts, 'services'>): JsonObject =>
	registry.open('executor', row.executor, config, secrets, namedToolLocation(row));

/** The location of the tool's secrets, with the tool's name for messages. */
export const namedToolLocation = ({ organizationId, id, name }: Pick<ToolRow, 'organizationId' | 'id' | 'name'>): NamedSecretLocation => ({
	...toolLocation(organizationId, id),
	of: `the tool ${quote(name)}`,
});

export const toolLocation = (organizationId: string, row: string): SecretLocation => ({ organizationId, table: 'tools', row });

/** Describes a tool, which cannot be changed. Its schemas are frozen when they are first read: most tools of a gateway are not called. */
function describeTool(row: ToolRow, { name, description, api, tags = [] }: EntryAround, filled: readonly string[]): Tool {
	const parameters = withoutFilled(row.parameters, filled);
	const { outputSchema } = row;
	const isStrict = api?.strictOutput === true && outputSchema !== null;
	return Object.freeze<Tool>({
		id: row.id,
		organizationId: row.organizationId,
		name: name ?? row.name,
		description: description ?? row.description,
		executor: row.executor,
		get parameters() {
			return deepFreeze(parameters);
		},
		get outputSchema() {
			return deepFreeze(outputSchema);
		},
		annotations: deepFreeze(row.annotations),
		...(api?.icon != null && { icon: api.icon }),
		...(isStrict && { strictOutput: true }),
		...(tags.length > 0 && { tags: Object.freeze([...tags]) }),
		apiId: row.apiId,
		// The parameters differ with each set of arguments that credentials supply, and the shown output schema with `strictOutput`.
		version: [row.version, ...filled, ...(isStrict ? ['strict'] : [])].join('+'),
	});
}
