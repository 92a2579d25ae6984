// The table of the kinds of plugin. A further kind is one entry here beside its contract; the compiler asks for it.

import Joi, { type Schema } from 'joi';
import type { Base, Kind, Kinds } from '../contract/kinds.ts';
import { ROLES } from '../contract/permissions.ts';
import { jobHandlers } from './job-fields.ts';
import {
	choiceOr,
	code,
	configSchema,
	corsHeaders,
	gatewayRoutes,
	lentSandbox,
	limitWindow,
	managementRoutes,
	operatorSchema,
	positive,
	WORDS,
} from './manifest-fields.ts';

/** The schemas of the members that a kind has beside those of every plugin. A member that the contract gains does not compile without one. */
type Members<P> = Record<Exclude<keyof P, keyof Base<unknown> | 'kind'>, Schema>;

interface KindEntry<P> {
	/** The folder that holds the plugins of this kind, one folder each. */
	folder: string;
	/** The form of the folder's name, for the documentation. */
	named: string;
	/** Completes the sentence “A plugin of this kind …”. */
	does: string;
	/** The entry point of core that its plugins import. */
	door: 'index' | 'features';
	/** Whether a client may name a plugin of this kind as `type`; `declared` leaves it to the plugin's `creatable`. */
	creatable: boolean | 'declared';
	/** Whether rows store its config, which the document of the API then describes. */
	inRows: boolean;
	members: Members<P>;
}

/** The members that plugins of every kind may have. `kind` and `api` are checked before all others. */
export const COMMON = {
	kind: Joi.any(),
	api: Joi.any(),
	name: Joi.string()
		.pattern(/^[a-z][a-z0-9_]{0,31}$/)
		.required(),
	summary: Joi.string().required(),
	spec: Joi.string(),
	config: configSchema.required(),
	version: positive,
	upgrade: code,
	operator: operatorSchema,
	jobs: jobHandlers,
	close: code,
} satisfies Record<keyof Base<unknown> | 'kind', Schema>;

const must = code.required();
const check = code;

export const KINDS: { readonly [K in Kind]: KindEntry<Kinds[K]> } = {
	auth: {
		folder: 'plugins/auth',
		named: 'method',
		does: 'authenticates the callers of a gateway',
		door: 'index',
		creatable: true,
		inRows: true,
		members: {
			...{ authenticate: must, recheck: code, verifyBody: code, check, secretHeaders: code, takes: code, challenge: code },
			...{ scheme: code, fail: code, routes: gatewayRoutes, management: managementRoutes, cors: corsHeaders, universal: Joi.valid(true) },
		},
	},
	transport: {
		folder: 'adapters',
		named: 'protocol',
		does: 'speaks one wire protocol for a gateway',
		door: 'index',
		creatable: true,
		inRows: true,
		members: {
			...{ routes: gatewayRoutes.min(1).required(), cors: corsHeaders, fail: code, suffix: Joi.valid('.git'), tokens: code },
			judgesOrigin: Joi.valid(true),
		},
	},
	importer: {
		folder: 'importers',
		named: 'format',
		does: 'turns an API description into operations, operations into tools',
		door: 'index',
		creatable: true,
		inRows: true,
		members: {
			...{ detect: must, rootless: Joi.boolean(), introspect: code, parse: must, tool: must },
			...{ messageTypes: Joi.array().items(Joi.string()), normalize: code },
		},
	},
	executor: {
		folder: 'plugins/executors',
		named: 'type',
		does: 'runs a tool of its type',
		door: 'index',
		creatable: 'declared',
		inRows: true,
		members: {
			...{ creatable: Joi.boolean(), check, agent: code, execute: must, preview: code, sandbox: lentSandbox },
			...{ assertsFormats: Joi.boolean(), deadlineMs: positive.max(3_600_000) },
		},
	},
	provider: {
		folder: 'plugins/providers',
		named: 'family',
		does: 'calls a family of language models',
		door: 'index',
		creatable: true,
		inRows: true,
		members: { privateUrls: Joi.boolean(), check, chat: must, models: code, prices: code },
	},
	node: {
		folder: 'plugins/nodes',
		named: 'type',
		does: 'is one step of an agent’s pipeline, and declares its effect',
		door: 'index',
		creatable: true,
		inRows: true,
		members: {
			effect: choiceOr(Joi.valid('none', 'repeatable', 'once')).required(),
			ports: choiceOr(WORDS.min(1)),
			...{ role: Joi.valid('input', 'output'), inputSchema: code, body: code, uses: code, check, run: must },
			...{ template: code, says: code, offersClientTools: Joi.valid(true) },
		},
	},
	feature: {
		folder: 'plugins/features',
		named: 'feature',
		does: 'does anything else, as a hapi plugin with access to the whole core',
		door: 'features',
		creatable: false,
		inRows: false,
		members: {
			permissions: Joi.object().pattern(/^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$/, Joi.valid(...ROLES).required()),
			audits: WORDS,
			limits: Joi.object().pattern(/^[a-z][a-z0-9_-]*$/, limitWindow),
			segments: Joi.array()
				.items(Joi.string().pattern(/^[a-z][a-z0-9._-]*$/))
				.unique(),
			register: must,
		},
	},
};

/** Every kind, in the order of the documentation. */
export const KIND_NAMES = Object.keys(KINDS) as Kind[];
