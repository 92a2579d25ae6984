// The arguments of a tool as one JSON Schema: a plain object at the root, with the definitions it needs and no more.

import { type JsonObject, type JsonSchema, quote } from '../../core/index.ts';
import type { Argument } from './arguments.ts';
import type { Body } from './body.ts';
import type { Definitions } from './definitions.ts';

/** Above this a model reads a schema no more; what is left out accepts anything. */
const MAX_BYTES = 64 * 1024;

interface Member {
	arg: string;
	schema: JsonObject;
	refs: Set<string>;
	faults: Set<string>;
	sizeBytes: number;
	isRequired: boolean;
}

/** `body`, unless a parameter is called so. */
export function nameBody(args: readonly Argument[]): string {
	const taken = new Set(args.map(({ arg }) => arg));
	let name = 'body';
	while (taken.has(name)) name = `request_${name}`;
	return name;
}

export function joinArguments(
	args: readonly Argument[],
	body: (Body & { arg: string }) | null,
	definitions: Definitions,
	faults: Set<string>,
): JsonSchema {
	const { members, sizeBytes } = withinBudget(body ? [...args, body] : [...args], faults);
	const pointers = new Set(members.flatMap(({ refs }) => [...refs]));
	const closure = definitions.close(pointers, MAX_BYTES - sizeBytes);
	for (const fault of [...members.flatMap((member) => [...member.faults]), ...closure.faults]) faults.add(fault);
	const required = members.filter(({ isRequired }) => isRequired).map(({ arg }) => arg);
	const parameters: JsonSchema = { type: 'object', properties: Object.fromEntries(members.map(({ arg, schema }) => [arg, schema])) };
	if (required.length > 0) parameters['required'] = required;
	parameters['additionalProperties'] = false;
	if (Object.keys(closure.definitions).length > 0) parameters['$defs'] = closure.definitions;
	return parameters;
}

/** The largest go first. */
function withinBudget(members: Member[], faults: Set<string>): { members: Member[]; sizeBytes: number } {
	let sizeBytes = members.reduce((sum, member) => sum + member.sizeBytes, 0);
	const cut = new Set<Member>();
	for (const member of members.toSorted((a, b) => b.sizeBytes - a.sizeBytes)) {
		if (sizeBytes <= MAX_BYTES) break;
		faults.add(`the schema of ${quote(member.arg)} is too large and was left out: it accepts anything`);
		cut.add(member);
		sizeBytes -= member.sizeBytes;
	}
	const kept = members.map((member) => (cut.has(member) ? { ...member, schema: {}, refs: new Set<string>() } : member));
	return { members: kept, sizeBytes };
}
