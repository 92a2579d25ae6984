// An API of an organization's own notes: one route writes a note, one reads it.

import { body, type Core, type Feature, notFound, operation, organizationOf } from 'gatehouse/features';
import Joi from 'joi';

export interface Config {
	maxChars: number;
}

const NOTE = Joi.object({ name: Joi.string().required(), text: Joi.string().required() }).meta({ schema: 'MyPluginNote' });

export default {
	kind: 'feature',
	api: 1,
	name: 'my_plugin',
	summary: 'Keeps notes of an organization.',
	config: Joi.object<Config>({
		maxChars: Joi.number().integer().min(1).max(10_000).default(1000).description('The length of a note.'),
	}),
	segments: ['my-plugin'],
	permissions: { 'my-plugin:write': 'admin', 'my-plugin:read': 'viewer' },
	register(server, { maxChars }, core) {
		server.route([
			operation({
				method: 'PUT',
				path: '/my-plugin/{name}',
				id: 'putMyPluginNote',
				summary: 'Writes a note.',
				need: 'my-plugin:write',
				body: body({ text: Joi.string().max(maxChars).required() }),
				answer: NOTE,
				async handler(request) {
					const { name = '' } = request.params as Record<string, string>;
					// The schema has checked it.
					const note = { name, text: (request.payload as { text: string }).text };
					await recordsOf(core, organizationOf(request).id).put(name, note);
					return note;
				},
			}),
			operation({
				method: 'GET',
				path: '/my-plugin/{name}',
				id: 'getMyPluginNote',
				summary: 'Reads a note.',
				need: 'my-plugin:read',
				answer: NOTE,
				async handler(request) {
					const { name = '' } = request.params as Record<string, string>;
					const record = await recordsOf(core, organizationOf(request).id).get(name);
					if (!record) throw notFound('Note');
					return record.value;
				},
			}),
		]);
	},
} satisfies Feature<Config>;

/** The notes of another organization are other records. */
const recordsOf = (core: Pick<Core, 'recordsOf'>, organizationId: string) => core.recordsOf({ organizationId });
