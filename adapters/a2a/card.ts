// The agent's card: who it is, where and in which versions it speaks, how a client logs in, and its skills.

import {
	type Call,
	type Gateway,
	type Incoming,
	type JsonObject,
	knowsTag,
	notFound,
	type Reply,
	type Skill,
	TimeSlice,
	type Tool,
} from '../../core/index.ts';
import { hybridSchemes, securityOf } from './card/security.ts';
import { keySet, signaturesOf } from './card/signing.ts';
import { type Document, written, writtenCard } from './card/written.ts';
import type { Config, Operator } from './config.ts';
import { A2AError } from './errors.ts';
import { guidesOf, onCard } from './instructions.ts';
import type { MethodCall } from './methods.ts';
import { cardVersionOf } from './versions.ts';
import type { Protocol } from './wire.ts';

export const KEY_SET = '/.well-known/jwks.json';
/** The name of the extension: the schemas of the skills, which a card has no place for. */
export const TOOL_CALL = 'urn:gatehouse:a2a:tool-call:v1';

const MODES = ['application/json', 'text/plain'];
const MAX_AGE_SECONDS = 60;
/** The most characters of schemas in a card. */
const MAX_SCHEMA_CHARS = 4 * 1024 * 1024;
const EXAMPLE_ARGUMENTS = '{…}';

/** The skills of a card, and the schemas in its extension. */
interface Skills {
	skills: JsonObject[];
	inputSchemas: JsonObject;
}

async function describe({ tools, skills: own }: Shelf): Promise<Skills> {
	const slice = new TimeSlice();
	const skills: JsonObject[] = [];
	const inputSchemas: JsonObject = {};
	let chars = 0;
	for (const { name, description, parameters, annotations, executor } of tools) {
		skills.push({
			...{ id: name, name: annotations.title || name, description: description || name, tags: [executor] },
			...{ examples: [`{"skill": ${JSON.stringify(name)}, "arguments": ${EXAMPLE_ARGUMENTS}}`] },
			...{ inputModes: MODES, outputModes: MODES },
		});
		chars += JSON.stringify(parameters).length;
		if (chars <= MAX_SCHEMA_CHARS) inputSchemas[name] = parameters;
		if (slice.isOverNow) await slice.next();
	}
	for (const guide of guidesOf(own, tools)) {
		skills.push(onCard(guide));
		inputSchemas[guide.name] = guide.parameters;
	}
	return { skills, inputSchemas };
}

/** Frozen lists, which are the same ones until something in them changes. */
interface Shelf {
	tools: readonly Readonly<Tool>[];
	skills: readonly Readonly<Skill>[];
}

interface CardParts {
	gateway: Gateway;
	config: Config;
	operator: Operator;
	call: Call;
	/** Null: the card is public, and tells no skills. */
	shelf: Shelf | null;
}

/** A card of 1.0, signed where the operator set a key. */
async function modernCard(parts: CardParts): Promise<JsonObject> {
	const { gateway, config, operator, call, shelf } = parts;
	const { isOpen, ...security } = securityOf(call.admission());
	const { skills, inputSchemas } = shelf === null ? { skills: [], inputSchemas: null } : await describe(shelf);
	const card: JsonObject = {
		...about(gateway, config),
		supportedInterfaces: interfacesOf(gateway.url),
		capabilities: {
			...{ streaming: true, pushNotifications: true },
			// "Clients MUST authenticate" for the extended card: an open agent has no more to tell, unless its public card tells little.
			...((!isOpen || config.discovery === 'minimal') && { extendedAgentCard: true }),
			extensions: [{ uri: TOOL_CALL, description: DESCRIPTION, ...(inputSchemas && { params: { inputSchemas } }) }],
		},
		...security,
		defaultInputModes: MODES,
		defaultOutputModes: MODES,
		skills,
	};
	const signatures = await signaturesOf(card, operator, gateway.url + KEY_SET);
	return signatures.length === 0 ? card : { ...card, signatures };
}

const DESCRIPTION =
	'A skill is called by a data part {"skill": id, "arguments": {…}}; inputSchemas has the JSON Schema of the arguments of each.';

const about = ({ name, description, organizationName, url }: Gateway, config: Config): JsonObject => ({
	name,
	description: description || `The tools of ${name}, as skills.`,
	version: config.version,
	provider: { organization: organizationName, url: new URL(url).origin },
	...(config.documentationUrl !== undefined && { documentationUrl: config.documentationUrl }),
	...(config.iconUrl !== undefined && { iconUrl: config.iconUrl }),
});

const interfacesOf = (url: string): JsonObject[] => [
	{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
	{ url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
	{ url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
];

/** The card for clients that do not say what they speak: that of 1.0, with the members that 0.3 reads. */
function hybridCard(card: JsonObject, url: string): JsonObject {
	const { securitySchemes, securityRequirements, capabilities } = card as {
		securitySchemes: JsonObject;
		securityRequirements: JsonObject[];
		capabilities: JsonObject;
	};
	return {
		...card,
		...{ url, protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' },
		...(capabilities.extendedAgentCard === true && { supportsAuthenticatedExtendedCard: true }),
		securitySchemes: hybridSchemes(securitySchemes),
		security: securityRequirements.map(({ schemes }) => Object.fromEntries(Object.keys(schemes as JsonObject).map((name) => [name, []]))),
	};
}

/** @throws not_found in a call without a gateway */
async function cardOf(protocol: Protocol, { call, config, shelf }: Omit<CardParts, 'gateway' | 'operator'>): Promise<Document> {
	const { gateway } = call;
	if (!gateway) throw notFound('Agent');
	const make = async (): Promise<JsonObject> => {
		const card = await modernCard({ gateway, config, operator: call.operator as Operator, call, shelf });
		return protocol === '1.0' ? card : hybridCard(card, gateway.url);
	};
	const around = [protocol, gateway, config, call.admission()];
	return shelf === null ? written(await make()) : writtenCard({ lists: [shelf.tools, shelf.skills], around }, make);
}

/** "Discovery endpoints (.well-known/*, agent cards) are always public" (specification 4.3). */
export async function publicCard(request: Incoming, config: Config, call: Call): Promise<Reply> {
	const protocol = cardVersionOf(request);
	const shelf = config.discovery === 'minimal' ? null : { tools: await call.published(), skills: await call.skills() };
	return cached(request, await cardOf(protocol, { call, config, shelf }));
}

export const publicKeys = async (request: Incoming, _config: Config, call: Call): Promise<Reply> =>
	cached(request, await written(keySet(call.operator as Operator)));

function cached({ headers }: Incoming, { bytes, etag }: Document): Reply {
	const own = { 'cache-control': `public, max-age=${MAX_AGE_SECONDS}`, etag, vary: 'A2A-Version' };
	if (knowsTag(headers['if-none-match'], etag)) return { status: 304, headers: own };
	return { status: 200, headers: { ...own, 'content-type': 'application/json' }, body: bytes };
}

/** The card for callers: with all skills that they may see. @throws A2AError, insufficient_scope */
export async function extendedCard({ call, config, protocol }: MethodCall): Promise<Document> {
	const { isOpen } = securityOf(call.admission());
	if (isOpen && config.discovery === 'full')
		throw new A2AError('EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'The public card tells everything: there is no extended one.');
	return cardOf(protocol, { call, config, shelf: { tools: await call.tools(), skills: await call.skills() } });
}
