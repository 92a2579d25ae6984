// Types that nothing defines: which messages and methods cannot do without them, near or far.

import type { DescExtension, DescMessage, DescMethod, FileRegistry } from '@bufbuild/protobuf';
import type { GatewayError } from '../../core/index.ts';

export interface Missing {
	/** Why nobody knows all that the message can hold; null when all is known. */
	ofMessage(desc: DescMessage): GatewayError | null;
	/** The same of what a method takes and answers. */
	ofMethod(method: DescMethod): GatewayError | null;
}

/** @param unresolved faults by full names. @param extensions by the full name of what they extend */
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

/** Full names of the messages that hold a message or an extension, by its full name. */
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

/** What holds something with a fault has it, too. */
function spread(faults: Map<string, GatewayError>, holding: ReadonlyMap<string, string[]>): void {
	// A map that grows while it is walked is walked to its end.
	for (const [held, fault] of faults) for (const holder of holding.get(held) ?? []) if (!faults.has(holder)) faults.set(holder, fault);
}
