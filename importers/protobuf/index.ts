// Protobuf: every method of every service becomes a tool that calls it by gRPC, or by HTTP where the service has rules for that.

import { X509Certificate } from 'node:crypto';
import Joi from 'joi';
import {
	type ImportContext,
	nameOperations,
	type Operation,
	type SchemaImporter,
	type SchemaSource,
	type SchemaSummary,
} from '../../core/index.ts';
import { detect } from './detect.ts';
import { readDescription } from './document.ts';
import { refused } from './fault.ts';
import { convertMethod, createSurroundings, type ImportOptions, listMethods, namedMethods } from './operations.ts';
import { toTool } from './tool.ts';

/** What is no certificate would be ignored, and the server not be trusted for a reason that nobody could find. */
const certificates = (value: string, helpers: Joi.CustomHelpers): string | Joi.ErrorReport => {
	try {
		new X509Certificate(value);
		return value;
	} catch {
		return helpers.message({ custom: '{{#label}} must be PEM certificates' });
	}
};

const config = Joi.object<ImportOptions>({
	protocol: Joi.string()
		.valid('grpc', 'http')
		.default('grpc')
		.description('How tools call: grpc, or http with JSON, for methods that have a google.api.http rule'),
	rootCertificates: Joi.string()
		.max(16_384)
		.custom(certificates)
		.description('PEM certificates that the server’s is checked against, instead of those that everybody trusts. gRPC only'),
	timeoutMs: Joi.number().integer().min(1).max(120_000).description('Milliseconds for a whole call. Default 30,000'),
});

async function* parse(source: SchemaSource, given: ImportOptions, { log }: ImportContext): AsyncGenerator<Operation, SchemaSummary> {
	const description = readDescription(source, log);
	const surroundings = createSurroundings(description, Joi.attempt(given, config));
	const methods = listMethods(description.files);
	if (methods.length === 0) throw refused('The files define no service with a method: there is nothing to call.');
	const faults = methods.map((method) => surroundings.reachable.missing.ofMethod(method));
	const [fault] = faults;
	if (fault && faults.every((one) => one !== null)) throw fault;
	const named = namedMethods(methods);
	const names = nameOperations(named);
	for (const [index, method] of methods.entries()) {
		// Both lists were made of this one.
		yield convertMethod(method, named[index] as (typeof named)[number], names[index] as string, surroundings);
	}
	return { format: description.format, title: null, version: null, servers: [] };
}

export default {
	kind: 'importer',
	name: 'protobuf',
	summary: 'Imports Protobuf services, as .proto files or descriptor sets, and makes a tool of every method.',
	spec: 'Protocol Buffers, proto2, proto3 and editions 2023 and 2024; google.api.http',
	config,
	rootless: true,
	detect,
	parse,
	tool: toTool,
} satisfies SchemaImporter<ImportOptions>;
