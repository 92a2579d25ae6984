// `gatehouse check`: loads a package of plugins as the start does, without a database, and prints what operators and users get of it.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../contract/nouns.ts';
import { checkRoutes } from '../gateways/mount.ts';
import { reservedSegments } from '../http/reserved.ts';
import { assertAudits, permissionsOfFeatures } from '../management/declarations.ts';
import type { PluginDescription } from '../registry/describe.ts';
import { findFolder, isPath } from '../registry/folders.ts';
import { closePlugins, loadPlugins } from '../registry/loader.ts';
import { reasonOf } from '../registry/loading.ts';
import { type FoundPackage, findPackage } from '../registry/packages.ts';
import type { Registry } from '../registry/registry.ts';
import { pageOf } from './page.ts';

/** The report that `gatehouse check --json` prints. */
export interface CheckReport {
	ok: boolean;
	/** Null when it was not found. */
	package: { name: string; version: string | null; folder: string } | null;
	plugins: PluginDescription[];
	/** Sentences on what stops no start, but should be mended. */
	warnings: string[];
	/** Sentences with package, place and file: the start would stop with them. */
	faults: string[];
}

export interface Checked {
	/** For standard output. */
	text: string;
	/** For standard error. */
	faults: string[];
	code: 0 | 1;
}

const USAGE = 'Usage: gatehouse check <package or folder> [--test] [--json]';
const OPTIONS: readonly string[] = ['--test', '--json'];

/** @param root folder that holds the rooms of the service's own plugins. @throws Error with the usage */
export async function check(args: readonly string[], root: string): Promise<Checked> {
	const [target, ...more] = args.filter((arg) => !arg.startsWith('-'));
	const options = args.filter((arg) => arg.startsWith('-'));
	if (target === undefined || more.length > 0 || options.some((option) => !OPTIONS.includes(option))) throw new Error(USAGE);
	const report = await reportOf(target, root);
	if (options.includes('--test') && report.ok) report.faults.push(...failedTests(target, report));
	const ok = report.faults.length === 0;
	const text = options.includes('--json') ? `${JSON.stringify({ ...report, ok }, null, '\t')}\n` : pageOf(report);
	return { text, faults: [...report.warnings, ...report.faults], code: ok ? 0 : 1 };
}

async function reportOf(target: string, root: string): Promise<CheckReport> {
	const report: CheckReport = { ok: false, package: null, plugins: [], warnings: [], faults: [] };
	try {
		const found = isPath(target) ? findFolder(target) : findPackage(target, root, target);
		report.package = { ...found.package, folder: found.folder };
		report.plugins = await describe(found, root, logInto(report.warnings, target));
		report.ok = true;
	} catch (error) {
		report.faults.push(...reasonOf(error).split('\n'));
	}
	return report;
}

/** Loads the package beside the service's own plugins, and makes the checks that follow at the start. */
async function describe(found: FoundPackage, root: string, log: Log): Promise<PluginDescription[]> {
	const registry = await loadPlugins(root, [], { log, found: [found] });
	try {
		checkTogether(registry);
		return registry.describe().filter(({ kind, name }) => registry.origin(kind, name).source === found.source);
	} finally {
		await closePlugins(registry, log);
	}
}

/** Checks what plugins could take from each other. */
function checkTogether(registry: Registry): void {
	const features = registry.list('feature');
	permissionsOfFeatures(features);
	assertAudits(features);
	reservedSegments(features.flatMap(({ segments = [] }) => segments));
	checkRoutes(registry);
}

/** Runs `npm test` in the package's folder; its output goes to standard error, which leaves the report alone. */
function failedTests(target: string, { package: found }: CheckReport): string[] {
	const folder = found?.folder ?? target;
	const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { scripts?: Record<string, string> };
	if (scripts?.['test'] === undefined) return [`${target}: its package.json has no script "test" (in ${join(folder, 'package.json')}).`];
	const { status, error } = spawnSync('npm', ['test', '--silent'], {
		cwd: folder,
		stdio: ['ignore', 2, 2],
		shell: process.platform === 'win32',
	});
	if (error) return [`${target}: npm could not be started: ${error.message}.`];
	return status === 0 ? [] : [`${target}: its tests failed (npm test in ${folder}).`];
}

/** Keeps warnings and errors as sentences. */
function logInto(sentences: string[], target: string): Log {
	const keep = (fields: object, message: string): void => {
		const { plugins, error } = fields as { plugins?: string[]; error?: string };
		const about = [plugins?.join(', '), error].filter((part) => part !== undefined).join(': ');
		sentences.push(`${target}: ${message}${about && ` (${about})`}.`);
	};
	return { debug() {}, info() {}, warn: keep, error: keep };
}
