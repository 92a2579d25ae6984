// Tools of real APIs: GitHub, the pet store, ReadMe and Kubernetes, as imports make them.

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Api, Tool, ToolDraft } from '../../core/contract/nouns.ts';
import openapi from '../../importers/openapi/index.ts';
import { readWith } from './importer.ts';

const FIXTURES = new URL('../fixtures/', import.meta.url);
const EXAMPLES = new URL('../../node_modules/@readme/oas-examples/', import.meta.url);

/** The groups of GitHub's operations that most people use. */
const GITHUB =
	/^(repos|issues|pulls|activity|actions|gists|git|search|teams|users|reactions|checks|packages|projects|interactions|licenses|gitignore|markdown|meta|rate-limit|emojis|codes-of-conduct|billing)_/;
/** Kubernetes' stable resources: first the plain operations, then those of watching, connecting, statuses and collections. */
const KUBERNETES = /(AppsV1|BatchV1|CoreV1)(?!beta)/;
const SPECIAL = /^(watch|connect)|Status|Collection/;

const unpack = (file: string): string => gunzipSync(readFileSync(new URL(file, FIXTURES))).toString();
const example = (file: string): string => readFileSync(new URL(file, EXAMPLES), 'utf8');

/** Returns tools of four APIs, at most so many that there are: 1,082. Beyond that they are repeated, under names with a number. */
export async function realTools(count: number): Promise<Tool[]> {
	const github = (await draftsOf(unpack('github.openapi.json.gz'))).filter(({ name }) => GITHUB.test(name));
	const small = [...(await draftsOf(example('3.0/json/petstore.json'))), ...(await draftsOf(example('3.1/json/readme.json')))];
	const kubernetes = (await draftsOf(unpack('openapi/kubernetes.swagger.json.gz'))).filter(({ name }) => KUBERNETES.test(name));
	const sorted = kubernetes.toSorted((a, b) => Number(SPECIAL.test(a.name)) - Number(SPECIAL.test(b.name)));
	const drafts = [...github, ...small, ...sorted];
	return Array.from({ length: count }, (_none, place) => toolOf(drafts, place));
}

function toolOf(drafts: readonly ToolDraft[], place: number): Tool {
	const draft = drafts[place % drafts.length];
	if (!draft) throw new Error('There are no drafts.');
	const turn = Math.floor(place / drafts.length);
	const { name, description, executor, parameters, outputSchema, annotations } = draft;
	const own = turn === 0 ? name : `${name}_${turn}`;
	return {
		id: `id-${place}`,
		organizationId: 'acme',
		name: own,
		description,
		executor,
		parameters,
		outputSchema,
		annotations,
		apiId: null,
		version: '1',
	};
}

async function draftsOf(text: string): Promise<ToolDraft[]> {
	// The importer reads only the address of it.
	const api = { baseUrl: 'https://api.example' } as Api;
	return (await readWith(openapi, text)).operations.map((operation) => openapi.tool(operation, api));
}
