#!/usr/bin/env node
// @ts-check
// `npm create gatehouse-plugin <name> -- --kind <kind>`: writes the package of a plugin of that kind, complete and working. It is JavaScript,
// since npm runs it as it is and Node strips no types below node_modules.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';

const TEMPLATES = join(import.meta.dirname, 'templates');
const COMMON = 'common';

/** Each kind of plugin with what one does. */
const KINDS = {
	auth: 'authenticates the callers of a gateway',
	transport: 'speaks one wire protocol for a gateway',
	importer: 'turns an API description into tools',
	executor: 'runs a tool of its type',
	provider: 'calls a family of language models',
	node: 'is one step of an agent’s pipeline',
	feature: 'does anything else, with access to the whole core',
};

const USAGE = `Usage: npm create gatehouse-plugin <name> -- --kind <${Object.keys(KINDS).join('|')}> [--gatehouse <tarball, folder or version>]`;
/** The name in the templates, in each of its spellings. */
const NAMES = { package: 'my-plugin', plugin: 'my_plugin', type: 'MyPlugin' };
/** npm's rule for names, without capitals; a plugin's own name has at most 32 characters. */
const NAME = /^(?:@[a-z0-9-][a-z0-9-._]*\/)?([a-z][a-z0-9-]{0,31})$/;

/** Writes the package and says what to do next. @param {string[]} args */
async function main(args) {
	const { name, kind: given, gatehouse } = readArguments(args);
	const match = NAME.exec(name);
	if (!match?.[1])
		throw new Error(`"${name}" cannot be the name: use up to 32 small letters, digits and -, with a letter first, as in acme-hello.`);
	const folder = resolve(basename(name));
	if (existsSync(folder)) throw new Error(`The folder ${folder} exists already.`);
	const kind = given ?? (await askKind());
	if (!Object.hasOwn(KINDS, kind)) throw new Error(`"${kind}" is no kind of plugin: it must be one of ${Object.keys(KINDS).join(', ')}.`);
	for (const template of [COMMON, kind]) write(join(TEMPLATES, template), folder, { name, base: match[1], kind });
	if (gatehouse !== undefined) dependOn(join(folder, 'package.json'), gatehouse);
	const install = gatehouse === undefined ? 'npm install --save-dev <the tarball or folder of Gatehouse>' : 'npm install';
	return `Wrote the ${kind} plugin ${name} into ${folder}. Next:

  cd ${basename(folder)}
  ${install}
  npm test            its tests
  npm run check       whether the service would load it, and its config as users see it
  npm run dev         a service with it, started again after each change
`;
}

const OPTIONS = /** @type {const} */ ({ kind: { type: 'string', short: 'k' }, gatehouse: { type: 'string' } });

/** @param {string[]} args */
function readArguments(args) {
	try {
		const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
		const [name, ...more] = positionals;
		if (name !== undefined && more.length === 0) return { name, kind: values.kind, gatehouse: values.gatehouse };
	} catch {
		// The usage names every option.
	}
	throw new Error(USAGE);
}

/** Asks for the kind, if somebody is there to answer. */
async function askKind() {
	if (!process.stdin.isTTY) throw new Error(`The kind is missing. ${USAGE}`);
	const lines = Object.entries(KINDS).map(([kind, does]) => `  ${kind.padEnd(10)} ${does}\n`);
	const terminal = createInterface({ input: process.stdin, output: process.stdout });
	const answer = await terminal.question(`Which kind of plugin?\n${lines.join('')}> `);
	terminal.close();
	return answer.trim();
}

/**
 * Names the Gatehouse that the package is tested with. There is no default: on npm, the name `gatehouse` belongs to somebody else.
 * @param {string} file @param {string} gatehouse a version, or a path from where the command runs
 */
function dependOn(file, gatehouse) {
	const described = JSON.parse(readFileSync(file, 'utf8'));
	const spec = existsSync(gatehouse) ? `file:${resolve(gatehouse)}` : gatehouse;
	described.devDependencies = { ...described.devDependencies, gatehouse: spec };
	writeFileSync(file, `${JSON.stringify(described, null, '\t')}\n`);
}

/**
 * @param {string} template @param {string} folder
 * @param {{ name: string, base: string, kind: string }} names the package's name, the same without a scope, and the kind
 */
function write(template, folder, { name, base, kind }) {
	for (const entry of readdirSync(template, { withFileTypes: true, recursive: true })) {
		if (!entry.isFile()) continue;
		const source = join(entry.parentPath, entry.name);
		// npm packs no file of the name .gitignore.
		const target = join(folder, relative(template, source)).replace(/gitignore$/, '.gitignore');
		mkdirSync(dirname(target), { recursive: true });
		const text = readFileSync(source, 'utf8')
			.replaceAll('"my-plugin"', JSON.stringify(name))
			.replaceAll(NAMES.package, base)
			.replaceAll(NAMES.plugin, base.replaceAll('-', '_'))
			.replaceAll(NAMES.type, pascal(base))
			.replaceAll('{{kind}}', kind);
		writeFileSync(target, text);
	}
}

/** @param {string} name */
const pascal = (name) =>
	name
		.split('-')
		.map((word) => word.charAt(0).toUpperCase() + word.slice(1))
		.join('');

main(process.argv.slice(2)).then(
	(said) => process.stdout.write(said),
	(error) => {
		process.stderr.write(`${error.message}\n`);
		process.exitCode = 1;
	},
);
