// Converts methods of services one by one: a fault in one never affects the others.

import type { DescExtension, DescFile, DescMethod, FileRegistry } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import { cleanText, type JsonObject, type Named, type Operation } from '../../core/index.ts';
import type { HttpBinding } from '../../plugins/executors/grpc/config.ts';
import { createDefinitions, type Definitions } from './definitions.ts';
import type { Description } from './document.ts';
import { createMissing } from './missing.ts';
import { methodOptionsOf } from './options.ts';
import { createPieces } from './pruned-files.ts';
import { compactSet, type Reachable } from './reachable-types.ts';
import { convertAnswer, convertRequest } from './signature.ts';

/** Options of an import, which each operation passes on to its tool. */
export interface ImportOptions {
	protocol: 'grpc' | 'http';
	rootCertificates?: string;
	timeoutMs?: number;
}

export interface DescriptionContext {
	description: Description;
	definitions: Definitions;
	reachable: Reachable;
	given: ImportOptions;
}

const MAX_DESCRIPTION_CHARS = 1000;
/** Limit of the descriptors in base64, of which no method of Google's needs half. */
const MAX_DESCRIPTORS_CHARS = 512 * 1024;
/** Limit of descriptors and whole schema, which leaves room for the rest of the operation in its mebibyte. */
const MAX_DESCRIBED_CHARS = 880 * 1024;

const METHODS: Readonly<Record<DescMethod['methodKind'], string>> = {
	unary: 'UNARY',
	server_streaming: 'SERVER_STREAM',
	client_streaming: 'CLIENT_STREAM',
	bidi_streaming: 'BIDI_STREAM',
};

export function createDescriptionContext(description: Description, given: ImportOptions): DescriptionContext {
	const extensions = extensionsOf(description.registry);
	const { options, comments } = description;
	const order = new Map([...description.registry.files].map((file, index) => [file, index]));
	const missing = createMissing(description.unresolved, description.registry, extensions);
	const reachable = { registry: description.registry, extensions, order, missing, pieces: createPieces() };
	return { description, definitions: createDefinitions({ options, comments, extensions, behaviors: new Map() }), reachable, given };
}

/** Indexes extensions by the extended message. */
function extensionsOf(registry: FileRegistry): Map<string, DescExtension[]> {
	const all = [...registry].filter((desc) => desc.kind === 'extension');
	return Map.groupBy(all, ({ extendee }) => extendee.typeName);
}

/** Lists all methods, in the order of the files and of their content. */
export const listMethods = (files: readonly DescFile[]): DescMethod[] =>
	files.flatMap(({ services }) => services.flatMap(({ methods }) => methods));

/** Names methods `Service_Method`; if two services have one name, the package precedes it. */
export function namedMethods(methods: readonly DescMethod[]): Named[] {
	const short = ({ parent, name }: DescMethod): string => `${parent.name}_${name}`;
	const count = Map.groupBy(methods, (method) => short(method).toLowerCase());
	return methods.map((method) => {
		const isAlone = count.get(short(method).toLowerCase())?.length === 1;
		const { parent, name, methodKind } = method;
		return {
			method: METHODS[methodKind],
			path: `/${parent.typeName}/${name}`,
			operationId: isAlone ? short(method) : `${parent.typeName}_${name}`,
		};
	});
}

export function convertMethod(method: DescMethod, named: Named, name: string, context: DescriptionContext): Operation {
	const common = {
		...named,
		key: named.path.slice(1),
		name,
		description: describe(method, context.description),
		tags: [method.parent.typeName],
		deprecated: method.deprecated,
	};
	const result = convert(method, context);
	if (!('skip' in result)) return { ...common, ...result };
	const nothing = { parameters: { type: 'object' }, outputSchema: null, definition: {} };
	return { ...common, ...nothing, outcome: 'skipped', reasons: [sentence(result.skip)] };
}

type Converted = Pick<Operation, 'parameters' | 'whole' | 'outputSchema' | 'answerCut' | 'definition' | 'outcome' | 'reasons'>;

function convert(method: DescMethod, { description, definitions, reachable, given }: DescriptionContext): Converted | { skip: string } {
	const missing = reachable.missing.ofMethod(method);
	if (missing) return { skip: missing.message.replace(/\.$/, '') };
	const { bindings, answers } = methodOptionsOf(method, description.options);
	const isHttp = given.protocol === 'http';
	const fault = isHttp ? httpFault(method, bindings) : null;
	if (fault !== null) return { skip: fault };
	const faults = new Set<string>();
	const required = isHttp && bindings.length === 1 ? pathFields(method, bindings[0]) : [];
	const descriptors = compactSet(method, answers, reachable).toString('base64');
	if (descriptors.length > MAX_DESCRIPTORS_CHARS)
		return { skip: `its messages take more than ${MAX_DESCRIPTORS_CHARS} characters to describe` };
	const maxChars = MAX_DESCRIBED_CHARS - descriptors.length;
	const { parameters, whole = null, argument } = convertRequest(method, { required, maxChars }, definitions, faults);
	const reasons = [...faults].map(sentence);
	return {
		parameters,
		whole,
		...(isHttp ? { outputSchema: null } : convertAnswer(method, definitions)),
		definition: {
			...given,
			service: method.parent.typeName,
			method: method.name,
			descriptors,
			...(argument === null ? {} : { argument }),
			...(isHttp ? { bindings: bindings as unknown as JsonObject[] } : {}),
			readOnly: method.idempotency === Idempotency.NO_SIDE_EFFECTS || bindings[0]?.method === 'GET',
			idempotent: method.idempotency === Idempotency.IDEMPOTENT,
		},
		outcome: reasons.length > 0 ? 'degraded' : 'converted',
		reasons,
	};
}

/** Returns the reason why a method cannot be called over HTTP; null if it can. */
function httpFault({ methodKind }: DescMethod, bindings: readonly HttpBinding[]): string | null {
	if (bindings.length === 0) return 'it has no google.api.http rule, and the import asks for HTTP';
	if (methodKind === 'client_streaming' || methodKind === 'bidi_streaming')
		return 'it takes a stream, which HTTP with JSON has no form for';
	return null;
}

/** Returns the request's own fields that the path needs; nested ones are checked at the call. */
function pathFields({ input }: DescMethod, binding: HttpBinding | undefined): string[] {
	const names = [...(binding?.path ?? '').matchAll(/\{([^}=]+)/g)].map(([, name]) => name);
	return input.fields.filter(({ name }) => names.includes(name)).map(({ jsonName }) => jsonName);
}

function describe(method: DescMethod, { comments }: Description): string {
	const { parent, name, deprecated } = method;
	const comment = comments.get(`${parent.typeName}.${name}`) ?? '';
	const text = cleanText(comment, MAX_DESCRIPTION_CHARS) || `${parent.name}.${name}`;
	return deprecated && !/^deprecated/i.test(text) ? `Deprecated. ${text}` : text;
}

const sentence = (fault: string): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
