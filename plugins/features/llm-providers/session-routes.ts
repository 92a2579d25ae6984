// The sessions of a user: listed, shown, deleted.

import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import { type Core, listQuery, notFound, operation, page, pageOf, present, type StoredRecord } from '../../../core/features.ts';
import { findProvider } from './find.ts';
import { SESSION, SESSION_WITH_MESSAGES } from './present.ts';
import { Sessions, sessionOf } from './sessions.ts';

const sessionsOf = async (request: Request, core: Core): Promise<Sessions> =>
	new Sessions(request, core, (await findProvider(request, core)).id);
const idOf = (request: Request): string => String(request.params['sessionId']);

export const sessionRoutes = (core: Core): ServerRoute[] => [
	operation({
		method: 'GET',
		path: '/llm-providers/{id}/sessions',
		id: 'listChatSessions',
		summary: 'Lists your sessions with an LLM provider, the latest first.',
		need: 'tools:execute',
		query: listQuery({ sorts: [], filters: {} }),
		answer: page('sessions', SESSION),
		handler: async (request) => {
			const { items, nextCursor } = await (await sessionsOf(request, core)).list(pageOf(request));
			return { sessions: items.map((record) => presentSession(record)), nextCursor };
		},
	}),
	operation({
		method: 'GET',
		path: '/llm-providers/{id}/sessions/{sessionId}',
		id: 'getChatSession',
		summary: 'Shows a session with its messages.',
		need: 'tools:execute',
		answer: SESSION_WITH_MESSAGES,
		handler: async (request) => {
			const record = await (await sessionsOf(request, core)).find(idOf(request));
			if (!record) throw notFound('Session');
			return present(SESSION_WITH_MESSAGES, record, { ...fieldsOf(record), messages: sessionOf(record).messages });
		},
	}),
	operation({
		method: 'DELETE',
		path: '/llm-providers/{id}/sessions/{sessionId}',
		id: 'deleteChatSession',
		summary: 'Deletes a session with its messages.',
		need: 'tools:execute',
		answer: Joi.object({ sessionId: Joi.string() }),
		handler: async (request) => {
			if (!(await (await sessionsOf(request, core)).remove(idOf(request)))) throw notFound('Session');
			return { sessionId: idOf(request) };
		},
	}),
];

const fieldsOf = (record: StoredRecord) => ({
	...{ sessionId: sessionOf(record).sessionId, turns: sessionOf(record).turns },
	expiresAt: record.expiresAt ?? record.updatedAt,
});
const presentSession = (record: StoredRecord) => present(SESSION, record, fieldsOf(record));
