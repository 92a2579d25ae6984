// The `grpc` executor's config, which the Protobuf importer writes.

import { X509Certificate } from 'node:crypto';
import Joi from 'joi';

/** One way to call the method over HTTP: google/api/http.proto. */
export interface HttpBinding {
	method: string;
	path: string;
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

/** What is no certificate would be ignored, and the server not be trusted for a reason that nobody could find. */
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
	path: Joi.string().max(2048).pattern(/^\//).required().description('Path template, appended to the API’s base URL'),
	body: Joi.string()
		.max(256)
		.description('The field that is the body; * for all that is not in the path. Absent: all else goes into the query'),
});

export const config: Joi.ObjectSchema<GrpcConfig> = Joi.object<GrpcConfig>({
	protocol: Joi.string()
		.valid('grpc', 'http')
		.default('grpc')
		.description('How the API is called: gRPC on HTTP/2, or JSON over HTTP by the bindings'),
	service: Joi.string().max(512).required().description('Full name of the service'),
	method: Joi.string().max(256).required().description('Its method'),
	descriptors: Joi.string()
		.base64()
		.max(1024 * 1024)
		.required()
		.description('google.protobuf.FileDescriptorSet with the method and what its messages can hold, in base64'),
	argument: Joi.string()
		.valid('messages', 'request')
		.description('The argument that holds the request, or the messages of a stream; absent: the arguments are the request’s fields'),
	bindings: Joi.array().items(binding).max(20).description('For HTTP: the first that the arguments fit is used'),
	rootCertificates: Joi.string()
		.max(16_384)
		.custom(certificates)
		.description('PEM certificates that the server’s is checked against, instead of those that everybody trusts. gRPC only'),
	timeoutMs: Joi.number()
		.integer()
		.min(1)
		.max(120_000)
		.default(30_000)
		.description('Milliseconds for the whole call, told to the server as its deadline'),
	maxMessages: Joi.number()
		.integer()
		.min(1)
		.max(10_000)
		.default(1000)
		.description('Messages of a server’s stream; after these it is cancelled'),
}).description('One method of a service. The arguments are its request, in the canonical JSON of Protobuf');
