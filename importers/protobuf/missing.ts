// Undefined types: finds the messages and methods that depend on them, directly or not.

import type { DescExtension, DescMessage, DescMethod, FileRegistry } from '@bufbuild/protobuf';
import type { GatewayError } from '../../core/index.ts';

export interface Missing {
	/** The fault of a message that depends on an undefined type; null if there is none. */
	ofMessage(desc: DescMessage): GatewayError | null;
	/** The fault of a method whose request or answer depends on an undefined type; null if there is none. */
	ofMethod(method: DescMethod): GatewayError | null;
}

/** @param unresolved faults by full names. @param extensions extensions by the full name of the extended message */
export function createMissing(
	unresolved: ReadonlyMap<string, GatewayError>,
	registry: FileRegistry,
	extensions: ReadonlyMap<string, DescExtension[]>,
): Missing {
	const faults = new Map(unresolved);
	if (faults.size > 0) spread(faults, holders(registry, extensions));
	const ofMessage = ({ typeName }: DescMessage): GatewayError | null => faults.get(typeName) ?? null;
	return {
		ofMessage,
		ofMethod: ({ parent, name, input, output }) => faults.get(`${parent.typeName}.${name}`) ?? ofMessage(input) ?? ofMessage(output),
	};
}

/** Returns the full names of the messages that hold a message or an extension, by its full name. */
function holders(registry: FileRegistry, extensions: ReadonlyMap<string, DescExtension[]>): Map<string, string[]> {
	const found = new Map<string, string[]>();
	const add = (held: string, holder: string): void => {
		const known = found.get(held);
		if (known) known.push(holder);
		else found.set(held, [holder]);
	};
	for (const desc of registry) {
		if (desc.kind !== 'message') continue;
		const extending = extensions.get(desc.typeName) ?? [];
		for (const { typeName } of extending) add(typeName, desc.typeName);
		for (const { message } of [...desc.fields, ...extending]) if (message) add(message.typeName, desc.typeName);
	}
	return found;
}

/** Passes each fault on to all holders of its message. */
function spread(faults: Map<string, GatewayError>, holding: ReadonlyMap<string, string[]>): void {
	// Iteration over a Map also visits entries added meanwhile.
	for (const [held, fault] of faults) for (const holder of holding.get(held) ?? []) if (!faults.has(holder)) faults.set(holder, fault);
}
