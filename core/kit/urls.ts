// URLs that are saved. Joi's `uri` holds them to RFC 3986, but what will read them is the parser of https://url.spec.whatwg.org, which takes
// less: no port 99999, no host `%`, no address 1.2.3.4.5. What was saved and cannot be parsed would fail each time that it is used.

import Joi from 'joi';

/** Goes behind whatever else is asked of a URL. @param base of one that may be a path */
export const parsedUrl =
	(base?: string) =>
	(value: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport =>
		URL.canParse(value, base) ? value : helpers.message({ custom: '{{#label}} must be a valid URL: the host or the port in it is none' });

/** An absolute http or https URL. What may be reached is the egress guard's matter. */
export const httpUrl = Joi.string()
	.uri({ scheme: ['http', 'https'] })
	.custom(parsedUrl());
