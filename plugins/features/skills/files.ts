// The files of a skill as bodies bring them: contents by path.

import Joi from 'joi';
import { invalid, type NewSkillFile } from '../../../core/features.ts';
import { BOUNDS } from './bounds.ts';

/** The file that every skill has, which is written from its fields. */
export const DOCUMENT = 'SKILL.md';

const MAX_PATH = 200;
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Whether a name is a device on Windows, or loses its end there: installers refuse archives with such a path, whatever system they run on. */
const isNoFile = (segment: string): boolean => segment.endsWith('.') || /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(segment);

export type FileContent = { text: string } | { base64: string };
export type FilesInput = Record<string, FileContent>;
export type FileChanges = Record<string, FileContent | null>;

const content = Joi.object({
	text: Joi.string().allow('').description('The content, if it is text.'),
	base64: Joi.string()
		.allow('')
		.base64({ paddingRequired: true })
		.description('The content, if it is anything else, in Base64 (RFC 4648 §4).'),
}).xor('text', 'base64');

const byPath = (file: Joi.Schema): Joi.ObjectSchema =>
	Joi.object()
		.pattern(Joi.string(), file)
		.max(BOUNDS.skillFiles)
		.description(
			`Contents by path, such as \`references/limits.md\`: at most ${BOUNDS.skillFiles} files, and ${BOUNDS.skillBytes} bytes together. A body of 1 MiB ` +
				'holds no more; further files are added by changes.',
		);

export const FILES = byPath(content);
export const CHANGED_FILES = byPath(content.allow(null));

/** Reads files with contents. @throws validation_failed naming a path that a skill cannot have */
export const readFiles = (files: FilesInput): NewSkillFile[] =>
	Object.entries(files).map(([path, given]) => {
		assertPath(path);
		const isText = 'text' in given;
		return {
			path,
			mimeType: typeOf(path, isText),
			isText,
			content: isText ? Buffer.from(given.text) : Buffer.from(given.base64, 'base64'),
		};
	});

/** @throws validation_failed */
function assertPath(path: string): void {
	if (path.length > MAX_PATH) throw fault(path, `may have ${MAX_PATH} characters`);
	if (!path.split('/').every((segment) => SEGMENT.test(segment)))
		throw fault(path, 'must be a relative path: names of letters, digits, "_", "-" and "." with "/" between them, none beginning with "."');
	if (path.split('/').some(isNoFile)) throw fault(path, 'has a name that is none on Windows, so that nobody could install the skill');
	const [first = '', ...below] = path.split('/');
	if (first.toUpperCase() !== DOCUMENT.toUpperCase()) return;
	throw fault(path, below.length === 0 ? 'is written from name, description, frontmatter and body' : `would make a folder of ${DOCUMENT}`);
}

/**
 * Checks that the files can lie in one folder, also on a system that ignores case. @param paths all paths, of which `fresh` ones are at fault
 * @throws validation_failed
 */
export function assertTogether(paths: readonly string[], fresh: ReadonlySet<string>): void {
	const taken = new Map<string, string>();
	for (const path of paths) {
		const other = taken.get(path.toUpperCase());
		if (other !== undefined) throw fault(fresh.has(path) ? path : other, `is the path of another file, but for capitals: ${other}`);
		taken.set(path.toUpperCase(), path);
	}
	for (const path of paths) {
		const folders = path.split('/').slice(0, -1);
		for (const at of folders.keys()) {
			const file = taken.get(
				folders
					.slice(0, at + 1)
					.join('/')
					.toUpperCase(),
			);
			if (file !== undefined) throw fault(fresh.has(path) ? path : file, `would make a folder of the file ${file}`);
		}
	}
}

const fault = (path: string, message: string) => {
	const pointer = path.slice(0, MAX_PATH).replaceAll('~', '~0').replaceAll('/', '~1');
	return invalid(`/files/${pointer}`, `The path "${path.slice(0, MAX_PATH)}" of a file ${message}.`);
};

/** Media types by the ends of names; others are plain text or bytes. */
const TYPES: Record<string, string> = {
	...{ md: 'text/markdown', txt: 'text/plain', csv: 'text/csv', html: 'text/html', css: 'text/css', xml: 'application/xml' },
	...{ json: 'application/json', yaml: 'application/yaml', yml: 'application/yaml', toml: 'application/toml', pdf: 'application/pdf' },
	...{ js: 'text/javascript', mjs: 'text/javascript', ts: 'text/x-typescript', py: 'text/x-python', sh: 'text/x-shellscript' },
	...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', svg: 'image/svg+xml' },
	...{ wav: 'audio/wav', mp3: 'audio/mpeg', ogg: 'audio/ogg', zip: 'application/zip', gz: 'application/gzip' },
};

export function typeOf(path: string, isText: boolean): string {
	const end = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
	const known = Object.hasOwn(TYPES, end) ? TYPES[end] : undefined;
	return known ?? (isText ? 'text/plain' : 'application/octet-stream');
}
