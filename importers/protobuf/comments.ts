// Reads the comments of a compiled file, which are stored apart from their definitions, by the location of these in the file.

import type { DescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt';

/** Numbers of fields in descriptor.proto, of which such locations consist. */
const FILE = { messageType: 4, enumType: 5, service: 6, extension: 7 };
const MESSAGE = { field: 2, nestedType: 3, enumType: 4, extension: 6 };
const SERVICE_METHOD = 2;

/** Returns comments by full name. */
export function commentsOf(file: FileDescriptorProto): Map<string, string> {
	const byPlace = new Map<string, string>();
	for (const { path, leadingComments, trailingComments } of file.sourceCodeInfo?.location ?? []) {
		const comment = plain(leadingComments || trailingComments);
		if (comment !== '') byPlace.set(path.join('.'), comment);
	}
	const found = new Map<string, string>();
	if (byPlace.size === 0) return found;
	const add = (name: string, place: string): void => {
		const comment = byPlace.get(place);
		if (comment !== undefined) found.set(name, comment);
	};
	const prefix = file.package === '' ? '' : `${file.package}.`;
	for (const [index, message] of file.messageType.entries()) addMessage(message, { prefix, place: `${FILE.messageType}.${index}` }, add);
	for (const [index, { name }] of file.enumType.entries()) add(prefix + name, `${FILE.enumType}.${index}`);
	for (const [index, { name }] of file.extension.entries()) add(prefix + name, `${FILE.extension}.${index}`);
	for (const [index, service] of file.service.entries()) {
		const place = `${FILE.service}.${index}`;
		add(prefix + service.name, place);
		for (const [at, { name }] of service.method.entries()) add(`${prefix}${service.name}.${name}`, `${place}.${SERVICE_METHOD}.${at}`);
	}
	return found;
}

/** Strips what compilers leave: the space before each line, and the last slash of `///`. */
const plain = (comment: string): string =>
	comment
		.split('\n')
		.map((line) => line.replace(/^\/+/, '').trim())
		.join('\n')
		.trim();

type Add = (name: string, place: string) => void;

function addMessage(message: DescriptorProto, at: { prefix: string; place: string }, add: Add): void {
	const name = at.prefix + message.name;
	add(name, at.place);
	for (const [index, field] of message.field.entries()) add(`${name}.${field.name}`, `${at.place}.${MESSAGE.field}.${index}`);
	for (const [index, one] of message.enumType.entries()) add(`${name}.${one.name}`, `${at.place}.${MESSAGE.enumType}.${index}`);
	for (const [index, one] of message.extension.entries()) add(`${name}.${one.name}`, `${at.place}.${MESSAGE.extension}.${index}`);
	for (const [index, nested] of message.nestedType.entries())
		addMessage(nested, { prefix: `${name}.`, place: `${at.place}.${MESSAGE.nestedType}.${index}` }, add);
}
