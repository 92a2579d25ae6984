// URLs that are saved. Joi's `uri` checks them by RFC 3986, but they are used with the parser of https://url.spec.whatwg.org, which is
// stricter: no port 99999, no host `%`, no address 1.2.3.4.5. A saved URL that cannot be parsed would fail at each use.

import Joi from 'joi';

/** Builds a rule to add to a URL's other rules. @param base for a URL that may be a path */
export const parsedUrl =
	(base?: string) =>
	(value: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport =>
		URL.canParse(value, base) ? value : helpers.message({ custom: '{{#label}} must be a valid URL: its host or port is not valid' });

/** An absolute http or https URL. The egress guard decides whether it may be reached. */
export const httpUrl = Joi.string()
	.uri({ scheme: ['http', 'https'] })
	.custom(parsedUrl());
