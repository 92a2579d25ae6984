// Skills of an organization (https://agentskills.io/specification): instructions for models, with files, which its gateways publish.

import type { Request, Server, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	body,
	bodyOfSkill,
	type Core,
	expectedVersion,
	type Feature,
	filterOf,
	listQuery,
	notFound,
	operation,
	organizationOf,
	page,
	pageOf,
	removal,
	removalQuery,
	type SkillRow,
	showVersion,
	storeOf,
	type TextFilter,
	words,
} from '../../../core/features.ts';
import { assignmentRoutes } from './assignments.ts';
import { BOUNDS, MAX_FIELD_CHARS } from './bounds.ts';
import { changed, created, type NewSkill, type SkillPatch } from './edit.ts';
import { CHANGED_FILES, DOCUMENT, FILES } from './files.ts';
import { presentFile, presentSkill, SKILL, SKILL_FILE, SKILL_WITH_BODY } from './present.ts';

const name = Joi.string()
	.max(64)
	.pattern(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'a name of a-z, 0-9 and single hyphens between them')
	.description('Its name, unique in the organization: a-z, 0-9 and single hyphens.');
const about = Joi.string()
	.min(1)
	.max(1024)
	.pattern(/\S/, 'more than blanks')
	.description('What the skill does and when to use it, for models.');
const instructions = Joi.string()
	.allow('')
	.max(100_000)
	.description('The instructions, in Markdown: `SKILL.md` without its head. `{{name}}` stands for the argument of that name.');
const text = Joi.string().allow('').max(1024);
const frontmatter = Joi.object({
	license: text.description('Its licence, or the file that has it.'),
	compatibility: text.max(500).description('What it needs to work: products, packages, access to a network.'),
	'allowed-tools': text.description('Tools that it may use without asking, separated by blanks; experimental.'),
	metadata: Joi.object().pattern(Joi.string().min(1).max(100), text).max(50).description('Texts by names of your own.'),
}).description(`Further fields of the head of \`SKILL.md\`: at most ${MAX_FIELD_CHARS} characters of JSON.`);
const args = Joi.array()
	.items(
		Joi.object({
			name: Joi.string()
				.pattern(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'a name of letters, digits and "_", at most 64')
				.required(),
			description: text.default(''),
			required: Joi.boolean().default(false),
			values: Joi.array().items(Joi.string().min(1).max(200)).unique().max(200).default([]).description('Texts that clients offer for it.'),
		}),
	)
	.unique('name')
	.max(20)
	.description(
		`The arguments of the prompt that clients make of it, at most ${MAX_FIELD_CHARS} characters of JSON. Without any, it takes an optional \`task\`.`,
	);

const CREATE = body({
	name: name.required(),
	description: about.required(),
	body: instructions.required(),
	frontmatter: frontmatter.default({}),
	arguments: args.default([]),
	files: FILES.default({}),
}).example({
	name: 'refund-orders',
	description: 'Refunds orders. Use when a customer wants their money back.',
	body: 'Find the order with find_order first. See references/limits.md before you refund more than 100 EUR.',
	files: { 'references/limits.md': { text: 'Refunds above 100 EUR need a second pair of eyes.' } },
});

const UPDATE = body({ name, description: about, body: instructions, frontmatter, arguments: args, files: CHANGED_FILES })
	.min(1)
	.example({ description: 'Refunds orders and parts of them.', files: { 'references/limits.md': null } });

const FILE = Joi.object({ path: Joi.string().max(1000).default(DOCUMENT).description('Its path in the skill.') });

export default {
	kind: 'feature',
	api: 1,
	name: 'skills',
	summary: 'Skills: instructions with files, which gateways give to their clients’ models.',
	config: Joi.object({}),
	segments: ['skills', 'gateways'],
	register(server: Server, _config, core) {
		server.route([
			...[listSkills(core), createSkill(core), getSkill(core), getFile(core), updateSkill(core), deleteSkill(core)],
			...assignmentRoutes(core),
		]);
	},
} satisfies Feature;

const listSkills = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/skills',
		id: 'listSkills',
		summary: 'Lists the skills of the organization, without their bodies.',
		need: 'tools:read',
		query: listQuery({ sorts: ['createdAt', 'updatedAt', 'name'], filters: { q: words } }),
		answer: page('skills', SKILL),
		handler: async (request) => {
			const { items, nextCursor } = await core.store.skills.list(
				organizationOf(request).id,
				pageOf(request),
				filterOf<TextFilter>(request),
			);
			return { skills: items.map(presentSkill), nextCursor };
		},
	});

const createSkill = (core: Core): ServerRoute =>
	operation({
		method: 'POST',
		path: '/skills',
		id: 'createSkill',
		summary: 'Creates a skill.',
		need: 'tools:write',
		body: CREATE,
		answer: SKILL_WITH_BODY,
		status: 201,
		errors: ['conflict'],
		idempotent: true,
		versioned: true,
		handler: async (request) => {
			// The body has passed CREATE.
			const edit = created(request.payload as NewSkill);
			return show(request, await storeOf(request, core).skills.create(organizationOf(request).id, edit, BOUNDS), core);
		},
	});

const getSkill = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/skills/{id}',
		id: 'getSkill',
		summary: 'Shows a skill with its body and the list of its files.',
		need: 'tools:read',
		answer: SKILL_WITH_BODY,
		versioned: true,
		handler: async (request) => show(request, await findSkill(request, core), core),
	});

const getFile = (core: Core): ServerRoute =>
	operation({
		method: 'GET',
		path: '/skills/{id}/files',
		id: 'getSkillFile',
		summary: 'Shows a file of a skill with its content; `SKILL.md` without a `path`.',
		need: 'tools:read',
		query: FILE,
		answer: SKILL_FILE,
		handler: async (request) => {
			// The query has passed FILE.
			const { path } = request.query as { path: string };
			const { organizationId, id, files } = await findSkill(request, core);
			const file = files.find((one) => one.path === path);
			const content = file && (await core.store.skills.content(organizationId, id, path));
			if (!content) throw notFound('File of the skill');
			return presentFile(file, content);
		},
	});

const updateSkill = (core: Core): ServerRoute =>
	operation({
		method: 'PATCH',
		path: '/skills/{id}',
		id: 'updateSkill',
		summary: 'Changes the given fields of a skill.',
		description: '`files` changes the files that it names, null removing one, and leaves the others.',
		need: 'tools:write',
		body: UPDATE,
		answer: SKILL_WITH_BODY,
		errors: ['conflict'],
		versioned: true,
		handler: async (request) => {
			// The body has passed UPDATE.
			const change = request.payload as SkillPatch;
			const options = { bounds: BOUNDS, ifVersion: expectedVersion(request) };
			const id = String(request.params['id']);
			const row = await storeOf(request, core).skills.update(organizationOf(request).id, id, changed(change), options);
			if (!row) throw notFound('Skill');
			return show(request, row, core);
		},
	});

const deleteSkill = (core: Core): ServerRoute =>
	operation({
		method: 'DELETE',
		path: '/skills/{id}',
		id: 'deleteSkill',
		summary: 'Removes a skill and its assignments to gateways.',
		need: 'tools:write',
		query: removalQuery,
		answer: removal('assignments'),
		errors: ['conflict'],
		versioned: true,
		handler: async (request) => {
			const id = String(request.params['id']);
			// The query has passed `removalQuery`.
			const { ifUnused } = request.query as { ifUnused: boolean };
			const removed = await storeOf(request, core).skills.remove(organizationOf(request).id, id, ifUnused, expectedVersion(request));
			if (!removed) throw notFound('Skill');
			return { id, removed };
		},
	});

/** @throws not_found */
async function findSkill(request: Request, { store }: Core): Promise<SkillRow> {
	const row = await store.skills.get(organizationOf(request).id, String(request.params['id']));
	if (!row) throw notFound('Skill');
	return row;
}

async function show(request: Request, row: SkillRow, { store }: Core) {
	showVersion(request, row.version);
	const document = await store.skills.content(row.organizationId, row.id, DOCUMENT);
	return { ...presentSkill(row), body: document ? bodyOfSkill(document.toString()) : '' };
}
