// The part of a request that no argument changes, made once for each config: the URL in pieces, the headers, and the parameters by their place.

import { type Api, invalid, type Json } from '../../../core/index.ts';
import type { HttpConfig, Parameter } from './config.ts';
import { hasPlaceholders, writesSecret } from './template.ts';

const IN_QUERY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);
/** Prefers JSON, which becomes structured content, and accepts anything. */
const ACCEPT = 'application/json, text/*;q=0.9, */*;q=0.8';

interface BaseUrl {
	origin: string;
	/** The API's own path, which no argument may leave; empty for absolute URLs. */
	prefix: string;
	/** The path with its placeholders, `prefix` included. */
	path: string;
	/** Query of the API's base URL, unchanged. */
	query: readonly string[];
	/** Query of the config's URL, with placeholders. */
	template: string[];
}

export interface Plan extends Omit<BaseUrl, 'path'> {
	/** Texts, and the parameters between them. */
	path: readonly (string | Parameter)[];
	/** Query values of the config, by name. */
	configured: readonly (readonly [name: string, value: Json])[];
	/** Whether no argument and no config can add to the query, but for arguments that are left over. */
	hasNoQuery: boolean;
	parameters: Readonly<Record<Exclude<Parameter['in'], 'path'>, readonly Parameter[]>>;
	/** Headers without placeholders, names in lower case. */
	headers: Readonly<Record<string, string>>;
	/** Headers that follow them, in the order of the config. */
	filledHeaders: readonly { name: string; template: string }[];
	/** Whether arguments that no placeholder uses are sent, too: the config says by placeholders alone where arguments go. */
	takesRest: boolean;
	/** The place of these: the query, or else the body. */
	restInQuery: boolean;
	/** Names of headers into which the config itself writes a secret. */
	secretHeaders: readonly string[];
}

/** Plans by configs, which are frozen; an API's URL may change beside them. */
const PLANS = new WeakMap<HttpConfig, { baseUrl: string | undefined; plan: Plan }>();

/** @throws validation_failed */
export function planOf(config: HttpConfig, api: Api | null): Plan {
	const known = PLANS.get(config);
	if (known && known.baseUrl === api?.baseUrl) return known.plan;
	const plan = made(config, api);
	if (Object.isFrozen(config)) PLANS.set(config, { baseUrl: api?.baseUrl, plan });
	return plan;
}

function made(config: HttpConfig, api: Api | null): Plan {
	const { template: written, ...base } = baseOf(config.url, api);
	const of = (location: Parameter['in']): Parameter[] => (config.parameters ?? []).filter((parameter) => parameter.in === location);
	const parameters = { query: of('query'), querystring: of('querystring'), header: of('header'), cookie: of('cookie') };
	const template = written.map((piece) => byArgument(piece, of('path')));
	const configured = Object.entries(config.query ?? {});
	const counts = [base.query, template, configured, parameters.query, parameters.querystring].map(({ length }) => length);
	return {
		...base,
		template,
		path: piecesOf(base.path, of('path')),
		configured,
		hasNoQuery: counts.every((count) => count === 0),
		parameters,
		...headersOf(config),
		takesRest: (config.query ?? config.body ?? config.parameters ?? config.requestBody) === undefined,
		restInQuery: IN_QUERY.has(config.method),
		secretHeaders: Object.entries(config.headers ?? {}).flatMap(([name, template]) => (writesSecret(name, template) ? [name] : [])),
	};
}

/** Splits the URL. A placeholder can stand only after the origin: config.ts refuses others. */
function baseOf(url: string, api: Api | null): BaseUrl {
	const [beforeQuery = '', ...queries] = url.split('?');
	const template = queries.join('?').split('&').filter(Boolean);
	if (!url.startsWith('/')) {
		const [authority = ''] = /^[a-z]+:\/\/[^/]*/i.exec(beforeQuery) ?? [];
		return { origin: new URL(authority).origin, prefix: '', path: beforeQuery.slice(authority.length) || '/', query: [], template };
	}
	if (api === null || !URL.canParse(api.baseUrl))
		throw invalid(
			'/url',
			'url must be absolute, such as https://api.example.com/pets: the tool has no API with a base URL to put before it.',
		);
	const base = new URL(api.baseUrl);
	const prefix = base.pathname.replace(/\/+$/, '');
	return { origin: base.origin, prefix, path: prefix + beforeQuery, query: base.search.slice(1).split('&').filter(Boolean), template };
}

const PLACEHOLDER = /\{([^{}]+)\}/g;

/** Renames the placeholders of a query after the arguments of the parameters that have their names: OpenAPI lets a path have a query. */
const byArgument = (piece: string, parameters: readonly Parameter[]): string =>
	piece.replace(PLACEHOLDER, (whole, name: string) => {
		const known = parameters.find((one) => one.name === name);
		return known ? `{${known.arg}}` : whole;
	});

/** Splits a path at its placeholders. */
function piecesOf(path: string, parameters: readonly Parameter[]): (string | Parameter)[] {
	const pieces: (string | Parameter)[] = [];
	let end = 0;
	for (const { 0: whole, 1: name = '', index } of path.matchAll(PLACEHOLDER)) {
		pieces.push(path.slice(end, index), parameters.find((one) => one.name === name) ?? { arg: name, name, in: 'path' });
		end = index + whole.length;
	}
	return [...pieces, path.slice(end)];
}

/** Headers before the first placeholder are as they are; from there on they are filled in turn, since a later one of a name counts. */
function headersOf({ headers = {} }: HttpConfig): Pick<Plan, 'headers' | 'filledHeaders'> {
	const all = Object.entries(headers).map(([name, template]) => ({ name, template }));
	const first = all.findIndex(({ template }) => hasPlaceholders(template));
	const plain = first === -1 ? all : all.slice(0, first);
	return {
		headers: { accept: ACCEPT, ...Object.fromEntries(plain.map(({ name, template }) => [name.toLowerCase(), template])) },
		filledHeaders: all.slice(plain.length),
	};
}
