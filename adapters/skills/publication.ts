// The skills that a gateway publishes, with their archives: those made of its tools, and the organization's own. The same tools and skills give the
// same bytes in every process, so an index of one replica fits the archives of another.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Call, notFound, type Skill, type Tool } from '../../core/index.ts';
import { generateSkills } from './generated/skill.ts';
import { packInTurn } from './packing.ts';
import { type Files, fitsTar, inOrder, readFromTar, writeTar } from './tar.ts';
import { writeZip } from './zip.ts';

const compress = promisify(gzip);
const expand = promisify(gunzip);

/** The time for which the skills of unchanged tools are kept. */
const KEPT_MS = 60_000;
const OWN_KEPT_MS = 600_000;

export interface PublishedFile {
	path: string;
	size: number;
}

export interface PublishedSkill {
	name: string;
	description: string;
	/** The name of its archive. */
	archive: string;
	/** The hash of the archive's bytes: `sha256:` and hexadecimal digits. */
	digest: string;
	/** In order of the paths. */
	files: readonly PublishedFile[];
	/** Changes with every file. */
	read(path: string): Promise<Buffer | null>;
	readArchive(): Promise<Buffer>;
	/** All files, for what packs them differently. */
	readAll(): Promise<Files>;
}

export interface Published {
	/** In order of their names. */
	skills: readonly PublishedSkill[];
	/** Changes with every byte of every skill. */
	version: string;
}

/** The part of a gateway that a reader is shown. */
export interface View {
	/** Null when tools are told to callers only. */
	tools: readonly Readonly<Tool>[] | null;
	/** The organization's own skills. */
	skills: readonly Readonly<Skill>[];
}

/** @param base the address of the gateway, as the client spells its host */
export async function publish(call: Call, base: string, { tools, skills }: View): Promise<Published> {
	const own: PublishedSkill[] = [];
	for (const skill of skills) own.push(await publishOwn(call, skill));
	const source = { gateway: call.gateway, base, admission: call.admission(), tools, taken: skills.map(({ name }) => name) };
	const { name = '', organizationName = '', description = '' } = call.gateway ?? {};
	const key = hashOf([
		...[base, name, organizationName, description, source.admission.map(({ scheme }) => scheme ?? null), source.taken],
		tools?.map((tool) => [tool.id, tool.version, tool.name, tool.description, tool.tags ?? null]) ?? null,
	]);
	const generated = await call.memo(`generated:${key}`, KEPT_MS, async () => {
		const made: PublishedSkill[] = [];
		for await (const skill of generateSkills(source)) made.push(await packed(skill));
		return made;
	});
	const all = [...generated, ...own].sort((a, b) => (a.name < b.name ? -1 : 1));
	return { skills: all, version: hashOf(all.map((skill) => [skill.name, skill.digest])) };
}

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Keeps a generated skill as its archive alone, which is a tenth of its files. */
async function packed({ name, description, files }: { name: string; description: string; files: Files }): Promise<PublishedSkill> {
	const archive = await pack(files);
	return {
		...{ name, description, archive: `${name}.tar.gz`, digest: digestOf(archive) },
		files: inOrder(files).map(([path, { length: size }]) => ({ path, size })),
		readArchive: async () => archive,
		read: async (path) => readFromTar(await expand(archive), path),
		async readAll() {
			const tar = await expand(archive);
			return new Map([...files.keys()].map((path) => [path, readFromTar(tar, path) as Buffer]));
		},
	};
}

/** Compresses outside of the event loop. Node writes no time and no name into the head. */
const pack = async (files: Files): Promise<Buffer> => compress(writeTar(files), { level: 9 });

/** Publishes a skill of the organization: only its digest is kept, and its files are read when somebody asks for them. */
async function publishOwn(call: Call, skill: Readonly<Skill>): Promise<PublishedSkill> {
	const { id, name, description, version, files } = skill;
	const isTar = files.every(({ path }) => fitsTar(path));
	const readAll = async (): Promise<Files> => {
		const contents = new Map<string, Buffer>();
		for (const { path } of files) {
			const content = await call.skillFile(id, path);
			if (!content) throw notFound('File of the skill');
			contents.set(path, content);
		}
		return contents;
	};
	const readArchive = (): Promise<Buffer> => packInTurn(call, async () => (isTar ? pack(await readAll()) : writeZip(await readAll())));
	const digest = await call.memo(`own:${id}:${version}`, OWN_KEPT_MS, async () => digestOf(await readArchive()));
	const sizes = files.map(({ path, size }) => ({ path, size }));
	return {
		...{ name, description, archive: isTar ? `${name}.tar.gz` : `${name}.zip`, digest },
		files: sizes.sort((a, b) => (a.path < b.path ? -1 : 1)),
		read: (path) => call.skillFile(id, path),
		...{ readArchive, readAll },
	};
}
