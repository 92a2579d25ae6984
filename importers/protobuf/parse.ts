// Yields a description's methods one after the other; loaded only in the worker, with the libraries that read Protobuf.

import Joi from 'joi';
import { type ImportContext, nameOperations, type Operation, type SchemaSource, type SchemaSummary } from '../../core/index.ts';
import { config } from './config.ts';
import { readDescription } from './document.ts';
import { refused } from './fault.ts';
import { convertMethod, createDescriptionContext, type ImportOptions, listMethods, namedMethods } from './operations.ts';

export async function* parse(source: SchemaSource, given: ImportOptions, { log }: ImportContext): AsyncGenerator<Operation, SchemaSummary> {
	const description = readDescription(source, log);
	const context = createDescriptionContext(description, Joi.attempt(given, config));
	const methods = listMethods(description.files);
	if (methods.length === 0) throw refused('The files define no service with a method: there is nothing to call.');
	const faults = methods.map((method) => context.reachable.missing.ofMethod(method));
	const [fault] = faults;
	if (fault && faults.every((one) => one !== null)) throw fault;
	const named = namedMethods(methods);
	const names = nameOperations(named);
	for (const [index, method] of methods.entries()) {
		// The casts hold: both lists were made from `methods`.
		yield convertMethod(method, named[index] as (typeof named)[number], names[index] as string, context);
	}
	return { format: description.format, title: null, version: null, servers: [] };
}
