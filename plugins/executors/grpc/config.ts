// The `grpc` executor's config, which the Protobuf importer writes.

import { X509Certificate } from 'node:crypto';
import Joi from 'joi';

/** One way to call the method over HTTP, as google/api/http.proto defines it. */
export interface HttpBinding {
	method: string;
	/** `/v1/{name=shelves/*}:close` */
	path: string;
	/** `*` for all that is not in the path, the name of a field, or absent. */
	body?: string;
}

export interface GrpcConfig {
	protocol: 'grpc' | 'http';
	service: string;
	method: string;
	descriptors: string;
	argument?: 'messages' | 'request';
	bindings?: HttpBinding[];
	rootCertificates?: string;
	timeoutMs: number;
	maxMessages: number;
}

/** Anything but a certificate would be ignored by TLS, and the server not be trusted for a reason that nobody could find. */
const certificates = (value: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport => {
	try {
		new X509Certificate(value);
		return value;
	} catch {
		return helpers.message({ custom: '{{#label}} must be PEM certificates' });
	}
};

const binding = Joi.object<HttpBinding>({
	method: Joi.string()
		.pattern(/^[A-Z]{1,20}$/)
		.required()
		.description('HTTP method'),
	path: Joi.string().max(2048).pattern(/^\//).required().description('Path template, appended to the base URL of the API'),
	body: Joi.string()
		.max(256)
		.description('The field that becomes the body; * for all fields that are not in the path. When absent, these go into the query'),
});

export const config: Joi.ObjectSchema<GrpcConfig> = Joi.object<GrpcConfig>({
	protocol: Joi.string()
		.valid('grpc', 'http')
		.default('grpc')
		.description('How the API is called: gRPC on HTTP/2, or JSON over HTTP by the bindings'),
	service: Joi.string().max(512).required().description('Full name of the service'),
	method: Joi.string().max(256).required().description('Name of the method'),
	descriptors: Joi.string()
		.base64()
		.max(1024 * 1024)
		.required()
		.description('google.protobuf.FileDescriptorSet in base64, with the method and all types that its messages can hold'),
	argument: Joi.string()
		.valid('messages', 'request')
		.description(
			'The argument that holds the request, or the messages of a stream. When absent, the arguments are the fields of the request',
		),
	bindings: Joi.array().items(binding).max(20).description('For HTTP: the first binding that the arguments fit is used'),
	rootCertificates: Joi.string()
		.max(16_384)
		.custom(certificates)
		.description('PEM certificates that the server’s certificate is checked against, instead of the public roots. gRPC only'),
	timeoutMs: Joi.number()
		.integer()
		.min(1)
		.max(120_000)
		.default(30_000)
		.description('Milliseconds for the whole call, sent to the server as its deadline'),
	maxMessages: Joi.number()
		.integer()
		.min(1)
		.max(10_000)
		.default(1000)
		.description('Most messages that are read from a server’s stream before it is cancelled'),
}).description('One method of a service. The arguments are its request, in the canonical JSON form of Protobuf');
