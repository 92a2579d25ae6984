// Callers' own credentials for an API: the headers of a gateway's request that are passed on to the API, and their names there.

import Joi from 'joi';
import { invalid, PluginFault } from '../contract/errors.ts';
import type { AuthMethod } from '../contract/kinds.ts';
import type { Incoming, JsonObject } from '../contract/nouns.ts';
import type { OutboundRequest } from '../contract/outbound.ts';
import { headerNameFault, headerValueFault } from '../egress/headers.ts';
import { resultOf } from '../process/hooks.ts';
import type { PassedHeader } from '../store/store.ts';
import { headerOf, withHeader } from './signing.ts';

const MAX_HEADERS = 10;
const MAX_NAME_CHARS = 100;

/** Headers that authenticate to Gatehouse, or to proxies before it. */
const OURS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authenticate', 'proxy-authorization', 'x-api-key']);

/** Headers that the executor writes, or that would follow a redirect to another origin. */
const OF_THE_REQUEST = /^(?:content-.*|accept|accept-language|user-agent|grpc-.*|proxy-.*)$/;

/** The text is a value of the template: `{…}` in a template itself would be evaluated. */
const wrong = (helpers: Joi.CustomHelpers, text: string): Joi.ErrorReport => helpers.message({ custom: '{{#label}} {{#text}}' }, { text });

const header = (faultOf: (name: string) => string | null): Joi.StringSchema =>
	Joi.string()
		.min(1)
		.max(MAX_NAME_CHARS)
		.custom((value: string, helpers) => {
			const fault = headerNameFault(value) ?? faultOf(value.toLowerCase());
			return fault === null ? value.toLowerCase() : wrong(helpers, fault);
		})
		.required();

const fromFault = (name: string): string | null =>
	OURS.has(name) ? `must be another header: ${name} identifies callers to the gateway` : null;
const toFault = (name: string): string | null => (OF_THE_REQUEST.test(name) ? 'is written by the executor that sends the request' : null);

/** The rule for bodies, and the shape of answers; names are converted to lower case. */
export const PASS_THROUGH = Joi.array()
	.items(
		Joi.object<PassedHeader>({
			from: header(fromFault).description('Header of the request to the gateway that holds the credential.'),
			to: header(toFault).description('Header of the request to the API that receives it, in place of a stored credential there.'),
		}),
	)
	.max(MAX_HEADERS)
	.unique((one: PassedHeader, other: PassedHeader) => one.to === other.to)
	.messages({ 'array.unique': '{{#label}} has the same "to" as another one' })
	.description(
		'Callers’ own credentials for the API: headers of the request to a gateway that go on to the API’s own origin, and to no other. ' +
			'`from` cannot be a header that identifies callers: neither Authorization nor Cookie, nor one in which a method of the gateway ' +
			'looks for a credential. A change replaces the whole list.',
	)
	.example([{ from: 'x-pets-token', to: 'authorization' }]);

type Method = Pick<AuthMethod, 'name' | 'config' | 'secretHeaders'>;

/** Refuses headers in which a method looks for its credential by default. @throws validation_failed */
export function assertPassable(passThrough: readonly PassedHeader[], methods: readonly Method[]): void {
	if (passThrough.length === 0) return;
	const taken = new Set(methods.flatMap(defaultHeaders));
	for (const [index, { from }] of passThrough.entries()) {
		const at = `/passThrough/${index}/from`;
		if (taken.has(from))
			throw invalid(at, `"passThrough[${index}].from" must be another header: ${from} identifies callers to the gateway.`);
	}
}

/** Returns the headers that a method names by the defaults of its config; none if it needs more than those: `passedOn` asks by a gateway's own. */
function defaultHeaders(plugin: Method): string[] {
	try {
		// Joi fills the defaults in, also where a field without one is missing.
		const config: JsonObject = plugin.config.validate({}, { abortEarly: false }).value;
		return [...secretHeadersOf([{ plugin, config }])];
	} catch {
		return [];
	}
}

/** A method of a gateway, reduced to the headers in which it looks for a credential. */
export interface LookingMethod {
	plugin: Pick<AuthMethod, 'name' | 'secretHeaders'>;
	config: JsonObject;
}

/** Returns the headers in which the methods look for a credential, in lower case. @throws PluginFault */
export const secretHeadersOf = (methods: readonly LookingMethod[]): Set<string> =>
	new Set(methods.flatMap(headersOf).map((name) => name.toLowerCase()));

/** @throws PluginFault: without the names of its headers, a method's credentials could be passed on */
function headersOf({ plugin, config }: LookingMethod): string[] {
	const hook = { plugin: `auth:${plugin.name}`, hook: 'secretHeaders' };
	const names: unknown = resultOf(hook, () => plugin.secretHeaders?.(config)) ?? [];
	if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
	throw new PluginFault(`auth:${plugin.name}`, 'secretHeaders must return a list of names of headers.');
}

/**
 * Collects the headers of a gateway's request that are passed on to the API, by the name of the receiving header; none that authenticates
 * to the gateway.
 */
export function passedOn(
	passThrough: readonly PassedHeader[],
	{ incoming, methods = [] }: { incoming?: Incoming; methods?: readonly LookingMethod[] },
): [to: string, value: string][] {
	if (passThrough.length === 0 || !incoming) return [];
	const taken = secretHeadersOf(methods);
	return passThrough.flatMap(({ from, to }): [string, string][] => {
		// An own property only, since every object inherits names such as `constructor`.
		const value = Object.hasOwn(incoming.headers, from) ? incoming.headers[from]?.trim() : undefined;
		const isOurs = OURS.has(from) || taken.has(from);
		return isOurs || !value || headerValueFault(value) !== null ? [] : [[to, value]];
	});
}

/** Adds passed headers, which replace those present and a stored credential; among cookies, those of the same names. */
export const withPassed = (request: OutboundRequest, passed: readonly [to: string, value: string][]): OutboundRequest =>
	passed.reduce(
		(one, [to, value]) => withHeader(one, to, to === 'cookie' ? cookies(headerOf(one, 'cookie') ?? '', value) : value),
		request,
	);

const nameOf = (pair: string): string => pair.split('=', 1)[0] ?? '';

function cookies(present: string, passed: string): string {
	const names = new Set(passed.split(/;\s*/).map(nameOf));
	return [...present.split(/;\s*/).filter((pair) => pair !== '' && !names.has(nameOf(pair))), passed].join('; ');
}
