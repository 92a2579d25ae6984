// A description's methods, one after the other: loaded in the worker alone, with the libraries that read Protobuf.

import Joi from 'joi';
import { type ImportContext, nameOperations, type Operation, type SchemaSource, type SchemaSummary } from '../../core/index.ts';
import { config } from './config.ts';
import { readDescription } from './document.ts';
import { refused } from './fault.ts';
import { convertMethod, createSurroundings, type ImportOptions, listMethods, namedMethods } from './operations.ts';

export async function* parse(source: SchemaSource, given: ImportOptions, { log }: ImportContext): AsyncGenerator<Operation, SchemaSummary> {
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
