// Converts operations one by one: a fault in one never affects the others.

import { cleanText, type JsonObject, type Named, type Operation, WholeSchemas } from '../../core/index.ts';
import { type Closures, createClosures } from './closure.ts';
import type { DocumentSet } from './documents.ts';
import { type Message, modelOfMessage, readMessage } from './messages.ts';
import { createModels, type Models } from './model.ts';
import type { ImportOptions } from './options.ts';
import { createPolicies, type Policies, type WsSecurity } from './policy.ts';
import { createSchemas, type Schemas } from './schemas.ts';
import { answerOf, headerKeyOf, parametersOf } from './signature.ts';
import { type BoundOperation, readWsdl, type ServiceOperation, type Wsdl } from './wsdl.ts';
import { indexComponents } from './xsd/components.ts';
import { createTypes, type Types, textOf } from './xsd/types.ts';

export interface ServiceContext {
	wsdl: Wsdl;
	types: Types;
	schemas: Schemas;
	models: Models;
	closures: Closures;
	wholes: WholeSchemas;
	policies: Policies;
	options: ImportOptions;
}

const MAX_DESCRIPTION_CHARS = 1000;

/** @throws validation_failed for options that name a service or port that does not exist */
export function readService(documents: DocumentSet, options: ImportOptions): ServiceContext {
	const types = createTypes(indexComponents(documents));
	const [schemas, models] = [createSchemas(types), createModels(types)];
	const closures = createClosures(schemas, models);
	const wsdl = readWsdl(documents.definitions, options);
	return { wsdl, types, schemas, models, closures, wholes: new WholeSchemas(), policies: createPolicies(), options };
}

/** Returns an identity for each operation, in order; those that the document does not distinguish are numbered. */
export function identify(operations: readonly ServiceOperation[]): Named[] {
	const counts = new Map<string, number>();
	return operations.map((operation) => {
		const path = pathOf(operation);
		const count = (counts.get(path) ?? 0) + 1;
		counts.set(path, count);
		return { method: 'POST', path: count === 1 ? path : `${path}#${count}`, operationId: operation.name };
	});
}

function pathOf({ service, portType, name, isOverloaded, inputName }: ServiceOperation): string {
	const names = [service ?? '', portType, name, ...(isOverloaded ? [inputName] : [])];
	return `/${names.map((one) => encodeURIComponent(one.toWellFormed())).join('/')}`;
}

export function convertOperation(
	operation: ServiceOperation,
	{ identity, name }: { identity: Named; name: string },
	context: ServiceContext,
): Operation {
	const common = {
		...identity,
		key: identity.path.slice(1),
		name,
		description: describe(operation),
		tags: [operation.service ?? operation.portType],
		deprecated: false,
	};
	const converted = convertWithin(operation, context);
	if (!('skip' in converted)) return { ...common, ...converted };
	const reasons = [sentence(converted.skip)];
	return { ...common, parameters: { type: 'object' }, outputSchema: null, definition: {}, outcome: 'skipped', reasons };
}

type Converted = Pick<Operation, 'parameters' | 'whole' | 'outputSchema' | 'answerCut' | 'definition' | 'outcome' | 'reasons'>;

/** Converts by recursion over types that extend, hold or redefine each other; a chain of thousands overflows the stack. */
function convertWithin(operation: ServiceOperation, context: ServiceContext): Converted | { skip: string } {
	try {
		return convert(operation, context);
	} catch (error) {
		if (error instanceof RangeError) return { skip: 'the chain of its types is too long to be followed' };
		throw error;
	}
}

function convert(operation: ServiceOperation, context: ServiceContext): Converted | { skip: string } {
	const { bound, input, name } = operation;
	if (!bound) return { skip: 'no SOAP binding over HTTP has it' };
	if (!input) return { skip: 'it is sent by the server, so it cannot be called' };
	const request = readMessage({ message: input, bound: bound.input, owner: `${name}_request`, wrapper: name }, bound, context);
	if ('skip' in request) return request;
	const response = readAnswer(operation, bound, context);
	return write(operation, bound, { request, response }, context);
}

/** Reads the answer's message; null if there is none, or none that is described. */
function readAnswer({ output, name }: ServiceOperation, bound: BoundOperation, context: ServiceContext): Message | null {
	if (!output || !bound.output) return null;
	const message = readMessage(
		{ message: output, bound: bound.output, owner: `${name}_response`, wrapper: `${name}Response` },
		bound,
		context,
	);
	return 'skip' in message ? null : message;
}

interface Messages {
	request: Message;
	response: Message | null;
}

function write(
	operation: ServiceOperation,
	bound: BoundOperation,
	{ request, response }: Messages,
	{ schemas, models, closures, wholes, wsdl, policies, options }: ServiceContext,
): Converted | { skip: string } {
	const sent = modelOfMessage(request, models);
	const answered = response && modelOfMessage(response, models);
	const model = closures.models([...sent.references, ...(answered?.references ?? [])]);
	const around = { schemas, closures, wholes, left: model.left };
	const signature = parametersOf(request, around);
	if ('skip' in signature) return signature;
	const headerKey = response && headerKeyOf(response, schemas);
	const wsSecurity = securityOf(bound, policies, options);
	const definition: JsonObject = {
		...(operation.address === null ? {} : { address: operation.address }),
		...(wsdl.rootAddress === null ? {} : { rootAddress: wsdl.rootAddress }),
		version: bound.version,
		style: bound.style,
		action: bound.action,
		...(wsSecurity ? { wsSecurity } : {}),
		namespaces: models.namespaces(new Set([...model.namespaces, ...sent.namespaces, ...(answered?.namespaces ?? [])])),
		types: model.types,
		request: {
			...sent.model,
			...(bound.input.isEncoded ? { encoded: true } : {}),
			...(Object.keys(signature.renamed).length > 0 ? { arguments: signature.renamed } : {}),
			...(signature.headerArgument === null ? {} : { headerKey: signature.headerArgument }),
		},
		...(answered
			? {
					response: {
						...answered.model,
						...(bound.output?.isEncoded ? { encoded: true } : {}),
						...(headerKey === null ? {} : { headerKey }),
					},
				}
			: {}),
	};
	const reasons = [...new Set([...request.faults, ...signature.faults, ...model.faults, ...(response?.faults ?? [])])].map(sentence);
	return {
		parameters: signature.parameters,
		whole: signature.whole ?? null,
		...(response ? answerOf(response, headerKey, around) : { outputSchema: null }),
		definition,
		outcome: reasons.length > 0 ? 'degraded' : 'converted',
		reasons,
	};
}

/** Finds the policy, which the binding, its operation or the operation's input may carry. The user's option takes precedence. */
function securityOf(
	{ binding, operation, definitions }: BoundOperation,
	policies: Policies,
	{ wsSecurity }: ImportOptions,
): WsSecurity | null {
	if (wsSecurity !== undefined) return wsSecurity === 'none' ? null : wsSecurity;
	return policies.wsSecurityOf([binding, operation, ...operation.children.filter(({ local }) => local === 'input')], definitions);
}

function describe({ documentation, service, portType, name }: ServiceOperation): string {
	const text = documentation ? textOf(documentation).replace(/\s+/g, ' ') : '';
	return cleanText(text, MAX_DESCRIPTION_CHARS) || cleanText(`${service ?? portType}: ${name}`, MAX_DESCRIPTION_CHARS);
}

const sentence = (fault: string): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
