// Joins the arguments of a tool into one JSON Schema: a plain object at the root, with exactly the definitions that it needs.

import { type CutSchema, type JsonObject, type JsonSchema, LEFT_OUT, MAX_WHOLE_CHARS, type Operation } from '../../core/index.ts';
import type { Argument } from './arguments.ts';
import type { Body } from './body.ts';
import { type Definitions, type Limits, MAX_STEPS } from './definitions.ts';
import type { DocumentContext } from './operations.ts';

/** The limits of what models are shown. */
const SHOWN: Limits = { bytes: 64 * 1024, steps: MAX_STEPS };
/** The limits of what is checked in a thread, which has eight times the stack. */
const WHOLE: Limits = { bytes: MAX_WHOLE_CHARS, steps: 8 * MAX_STEPS };

interface Member {
	arg: string;
	schema: JsonObject;
	refs: Set<string>;
	faults: Set<string>;
	sizeBytes: number;
	isRequired: boolean;
}

/** Returns `body`, with a prefix if a parameter has that name. */
export function nameBody(args: readonly Argument[]): string {
	const taken = new Set(args.map(({ arg }) => arg));
	let name = 'body';
	while (taken.has(name)) name = `request_${name}`;
	return name;
}

export function joinArguments(
	args: readonly Argument[],
	body: (Body & { arg: string }) | null,
	{ requests, wholes }: Pick<DocumentContext, 'requests' | 'wholes'>,
	faults: Set<string>,
): Pick<Operation, 'parameters' | 'whole'> {
	const members: Member[] = body ? [...args, body] : [...args];
	const lost = new Set<string>();
	const shown = join(members, requests, { limits: SHOWN, faults: lost });
	const { whole, reason } = wholes.settle(shown.left, () => join(members, requests, { limits: WHOLE, faults: lost }));
	// The reason comes first, since only some of many faults are reported.
	for (const fault of reason === null ? lost : [reason, ...lost]) faults.add(fault);
	return { parameters: shown.parameters, whole };
}

function join(all: readonly Member[], definitions: Definitions, { limits, faults }: { limits: Limits; faults: Set<string> }): CutSchema {
	const { members, sizeBytes, left } = withinBudget(all, limits.bytes);
	const pointers = new Set(members.flatMap(({ refs }) => [...refs]));
	const closure = definitions.close(pointers, { ...limits, bytes: limits.bytes - sizeBytes });
	for (const fault of [...members.flatMap((member) => [...member.faults]), ...closure.faults]) faults.add(fault);
	const required = members.filter(({ isRequired }) => isRequired).map(({ arg }) => arg);
	const parameters: JsonSchema = { type: 'object', properties: Object.fromEntries(members.map(({ arg, schema }) => [arg, schema])) };
	if (required.length > 0) parameters['required'] = required;
	parameters['additionalProperties'] = false;
	if (Object.keys(closure.definitions).length > 0) parameters['$defs'] = closure.definitions;
	return { parameters, left: [...left, ...closure.left] };
}

/** Cuts the largest arguments first. */
function withinBudget(members: readonly Member[], maxBytes: number): { members: Member[]; sizeBytes: number; left: string[] } {
	let sizeBytes = members.reduce((sum, member) => sum + member.sizeBytes, 0);
	const cut = new Set<Member>();
	for (const member of members.toSorted((a, b) => b.sizeBytes - a.sizeBytes)) {
		if (sizeBytes <= maxBytes) break;
		cut.add(member);
		sizeBytes -= member.sizeBytes;
	}
	const kept = members.map((member) =>
		cut.has(member) ? { ...member, schema: { description: LEFT_OUT }, refs: new Set<string>() } : member,
	);
	return { members: kept, sizeBytes, left: [...cut].map(({ arg }) => arg) };
}
