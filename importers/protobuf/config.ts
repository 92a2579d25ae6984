// Options of a Protobuf import.

import { X509Certificate } from 'node:crypto';
import Joi from 'joi';
import type { ImportOptions } from './operations.ts';

/** Anything but a certificate would be ignored by TLS, and the server not be trusted for a reason that nobody could find. */
const certificates = (value: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport => {
	try {
		new X509Certificate(value);
		return value;
	} catch {
		return helpers.message({ custom: '{{#label}} must be PEM certificates' });
	}
};

export const config = Joi.object<ImportOptions>({
	protocol: Joi.string()
		.valid('grpc', 'http')
		.default('grpc')
		.description('How tools call: grpc, or http with JSON, for methods that have a google.api.http rule'),
	rootCertificates: Joi.string()
		.max(16_384)
		.custom(certificates)
		.description('PEM certificates that the server’s certificate is checked against, instead of the public roots. gRPC only'),
	timeoutMs: Joi.number().integer().min(1).max(120_000).description('Milliseconds for a whole call. Default 30,000'),
});
