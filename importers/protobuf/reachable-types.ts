// Makes the descriptor set of a tool: one method and all types that its messages can hold, and nothing else.

import type { DescExtension, DescFile, DescMessage, DescMethod, FileRegistry } from '@bufbuild/protobuf';
import { WELL_KNOWN } from './bundled-files.ts';
import type { Missing } from './missing.ts';
import { member, type Pieces, pruneFile, type Reached } from './pruned-files.ts';

/** Number of the field `file` in a FileDescriptorSet. */
const FILE = 1;
/** Most messages of the method's file that are added because its Any may hold them. */
const MAX_GUESSED = 200;

/** The types of a description, which all its methods share. */
export interface Reachable {
	registry: FileRegistry;
	/** Extensions by the full name of the extended message. */
	extensions: ReadonlyMap<string, DescExtension[]>;
	/** Position of each file, after its imports. */
	order: ReadonlyMap<DescFile, number>;
	missing: Missing;
	pieces: Pieces;
}

/** @param answers full names of messages that an Any in the answer holds */
export function compactSet(method: DescMethod, answers: readonly string[], world: Reachable): Buffer {
	const reached: Reached = { types: new Set(), extensions: new Set() };
	const add = (desc: DescMessage | undefined): void => {
		if (desc) reach(desc, reached, world);
	};
	/** Adds a message that an Any may hold, unless it depends on an undefined type. */
	const guess = (desc: DescMessage | undefined): void => {
		if (desc && world.missing.ofMessage(desc) === null) add(desc);
	};
	add(method.input);
	add(method.output);
	for (const name of answers) guess(world.registry.getMessage(name));
	if (holdsAny(reached, world)) method.parent.file.messages.slice(0, MAX_GUESSED).forEach(guess);
	const files = new Set<DescFile>([...reached.types, ...reached.extensions].map(({ file }) => file));
	files.add(method.parent.file);
	const kept = [...files]
		.filter((file) => !WELL_KNOWN.has(file.proto.name))
		.sort((a, b) => (world.order.get(a) ?? 0) - (world.order.get(b) ?? 0));
	return Buffer.concat(kept.flatMap((file) => member(FILE, pruneFile(file, method, reached, world.pieces)).parts));
}

function holdsAny({ types }: Reached, { registry }: Reachable): boolean {
	const any = registry.getMessage('google.protobuf.Any');
	return any !== undefined && types.has(any);
}

function reach(root: DescMessage, reached: Reached, { extensions }: Reachable): void {
	const open: DescMessage[] = [root];
	for (let desc = open.pop(); desc !== undefined; desc = open.pop()) {
		if (reached.types.has(desc)) continue;
		reached.types.add(desc);
		const extending = extensions.get(desc.typeName) ?? [];
		for (const extension of extending) reached.extensions.add(extension);
		for (const { message, enum: values } of [...desc.fields, ...extending]) {
			if (message) open.push(message);
			if (values) reached.types.add(values);
		}
	}
}
