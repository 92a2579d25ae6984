// The methods by which a gateway admits callers, in neutral terms: what transports publish, so it never contains a secret.

import Joi, { type ObjectSchema } from 'joi';
import type { Admission, SecurityScheme } from '../contract/admission.ts';
import { PluginFault } from '../contract/errors.ts';
import type { ServedAt } from '../contract/nouns.ts';
import { admittingOf } from '../identity/gateway-rules.ts';
import { resultOf } from '../process/hooks.ts';
import { challengeOf, type MountedMethod } from './authenticate.ts';

const line = Joi.string()
	.max(500)
	.pattern(/^[^\p{Cc}\p{Cs}]+$/u);
const token = Joi.string()
	.max(100)
	.pattern(/^[!#$%&'*+\-.^_`|~\w]+$/);
const url = Joi.string()
	.max(2048)
	.custom((value: string, helpers) => (isPublicUrl(value) ? value : helpers.error('string.uri')));

/** Whether a text is an address that may be published: userinfo would be a secret. */
function isPublicUrl(text: string): boolean {
	if (!URL.canParse(text)) return false;
	const { protocol, username, password } = new URL(text);
	return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
}

const flow = { tokenUrl: url.required(), refreshUrl: url, scopes: Joi.object().pattern(line, line.allow('')).max(100).required() };
const FLOWS = Joi.object({
	authorizationCode: Joi.object({ ...flow, authorizationUrl: url.required(), pkceRequired: Joi.boolean() }),
	clientCredentials: Joi.object(flow),
	deviceAuthorization: Joi.object({ ...flow, deviceAuthorizationUrl: url.required() }),
}).min(1);

const KEY_LOCATIONS = ['header', 'query', 'cookie'];
const scheme = (type: SecurityScheme['type'], members: object): ObjectSchema =>
	Joi.object({ type: Joi.valid(type).required(), description: line, ...members });

const SCHEMES: Readonly<Record<SecurityScheme['type'], ObjectSchema>> = {
	apiKey: scheme('apiKey', { in: Joi.valid(...KEY_LOCATIONS).required(), name: token.required() }),
	http: scheme('http', { scheme: token.required(), bearerFormat: line }),
	oauth2: scheme('oauth2', { flows: FLOWS.required(), metadataUrl: url }),
	openIdConnect: scheme('openIdConnect', { openIdConnectUrl: url.required() }),
	mutualTLS: scheme('mutualTLS', {}),
};

/** Returns the methods that admit, in their order. @throws PluginFault */
export const admissionOf = (gateway: ServedAt, methods: readonly MountedMethod[]): readonly Admission[] =>
	admittingOf(methods)
		.filter(({ shut }) => !shut)
		.map((method) => {
			const { plugin, isRequired } = method;
			const described = schemeOf(method, gateway);
			const challenge = challengeOf(method, gateway, null);
			return {
				method: plugin.name,
				required: isRequired,
				...(challenge && { challenge }),
				...(described !== undefined && { scheme: described }),
			};
		});

/** The method gets its config without secrets, so that none can be published. */
export function schemeOf({ plugin, shownConfig }: MountedMethod, gateway: ServedAt): SecurityScheme | null | undefined {
	if (!plugin.scheme) return undefined;
	const hook = { plugin: `auth:${plugin.name}`, hook: 'scheme' };
	const value: unknown = resultOf(hook, () => plugin.scheme?.(gateway, shownConfig?.() ?? {}));
	if (value === null) return null;
	const { type } = (value ?? {}) as { type?: unknown };
	const known = typeof type === 'string' && Object.hasOwn(SCHEMES, type) ? SCHEMES[type as SecurityScheme['type']] : undefined;
	const fault = known ? known.validate(value, { convert: false }).error?.message : `type must be one of ${Object.keys(SCHEMES).join(', ')}`;
	if (fault !== undefined) throw new PluginFault(`auth:${plugin.name}`, `scheme must return null or a security scheme: ${fault}.`);
	// It was just checked; the copy is the caller's own.
	return structuredClone(value) as SecurityScheme;
}
