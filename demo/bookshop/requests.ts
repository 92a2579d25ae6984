// Reads requests as the bookshop's document describes them: finds the route by path and method, and checks parameters and bodies with Ajv.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument, Operation, Parameter } from './document.ts';
import { type Input, Refusal } from './operations.ts';

export interface Route {
	method: string;
	operation: Operation;
	/** Captures the path's parameters by name. */
	path: RegExp;
	checkParameters: ValidateFunction;
	/** Checks by media type; empty when the operation takes no body. */
	checkBody: Map<string, ValidateFunction>;
}

/** A request before it was checked. */
export interface RawRequest {
	url: URL;
	headers: NodeJS.Dict<string | string[]>;
	body: string;
}

const FORM = 'application/x-www-form-urlencoded';

export function compileRoutes(document: OpenApiDocument): Route[] {
	const exact = createAjv(document, false);
	// Parameters and form fields arrive as text.
	const coercing = createAjv(document, true);
	return Object.entries(document.paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, operation]) => ({
			method: method.toUpperCase(),
			operation,
			path: new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
			checkParameters: coercing.compile(parametersSchema(operation.parameters ?? [])),
			checkBody: new Map(
				Object.keys(operation.requestBody?.content ?? {}).map((type) => {
					const pointer = ['paths', path, method, 'requestBody', 'content', type, 'schema'].map(pointerToken).join('/');
					return [type, (type === FORM ? coercing : exact).compile({ $ref: `bookshop#/${pointer}` })];
				}),
			),
		})),
	);
}

function createAjv(document: OpenApiDocument, coerceTypes: boolean): Ajv2020 {
	const ajv = new Ajv2020({ strict: false, useDefaults: true, coerceTypes });
	// ajv-formats is CommonJS: its types put the function under `default`, Node passes the function itself.
	(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
	return ajv.addSchema(document, 'bookshop');
}

const pointerToken = (token: string): string => encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1'));

const parametersSchema = (parameters: Parameter[]): object => ({
	type: 'object',
	properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
	required: parameters.filter(({ required }) => required).map(({ name }) => name),
});

/** @throws Refusal 404 */
export function findRoute(routes: Route[], method: string, pathname: string): Route {
	const route = routes.find((candidate) => candidate.method === method && candidate.path.test(pathname));
	if (!route) throw new Refusal(404, 'not_found', `There is no ${method} ${pathname}.`);
	return route;
}

/** @throws Refusal 400, 415 */
export function readInput(route: Route, request: RawRequest): Input {
	const parameters = readParameters(route, request);
	demand(route.checkParameters, parameters, 'parameter');
	return { parameters, body: readBody(route, request) };
}

function readParameters(route: Route, { url, headers }: RawRequest): Record<string, unknown> {
	const fromPath = route.path.exec(url.pathname)?.groups ?? {};
	const given: Record<string, unknown> = {};
	for (const parameter of route.operation.parameters ?? []) {
		const value = {
			path: () => decodeSegment(fromPath[parameter.name]),
			query: () => readQuery(parameter, url.searchParams),
			header: () => headers[parameter.name.toLowerCase()],
		}[parameter.in]();
		if (value !== undefined) given[parameter.name] = value;
	}
	return given;
}

function decodeSegment(segment = ''): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		throw new Refusal(400, 'invalid', 'The path is not well encoded.');
	}
}

function readQuery({ name, explode = true, schema }: Parameter, query: URLSearchParams): string | string[] | undefined {
	const values = query.getAll(name);
	if (values.length === 0) return undefined;
	if (schema['type'] !== 'array') return values[0];
	return explode ? values : values.flatMap((value) => value.split(','));
}

function readBody(route: Route, { headers, body }: RawRequest): unknown {
	if (route.checkBody.size === 0) return undefined;
	const type = String(headers['content-type']).split(';', 1)[0]?.trim().toLowerCase() ?? '';
	const check = route.checkBody.get(type);
	if (!check) throw new Refusal(415, 'unsupported_media_type', `Send ${[...route.checkBody.keys()].join(' or ')}.`);
	const value: unknown = type === FORM ? Object.fromEntries(new URLSearchParams(body)) : parseJson(body);
	demand(check, value, 'body');
	return value;
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new Refusal(400, 'invalid', 'The body is not JSON.');
	}
}

function demand(check: ValidateFunction, value: unknown, what: string): void {
	if (check(value)) return;
	const [error] = check.errors ?? [];
	throw new Refusal(400, 'invalid', `${what} ${error?.instancePath.slice(1) ?? ''} ${error?.message ?? 'is wrong'}`.replace(/ +/g, ' '));
}
