// Questions that executions ask people. The answer itself is a signal of the run: only that it was given, and by whom, is stored here.

import type { Agents, AskedPlace, QuestionRow } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { bytesOf, startWalk, toPage, uptoRow, uuid } from '../pages.ts';
import { rows } from '../rows.ts';
import { lenient } from '../text.ts';

const SHORT = `q.id, q.organization_id AS "organizationId", q.agent_id AS "agentId", q.run_id AS "runId", q.key, q.node_id AS "nodeId",
	q.approvers, q.until, q.created_at AS "createdAt", q.answered_at AS "answeredAt", q.answered_by AS "answeredBy"`;
const COLUMNS = `${SHORT}, q.message, q.schema`;

// The agent is locked before the execution, as by whoever removes it. A conflict writes nothing, so that the row of the first is read by the
// statement after.
const ASK = `
INSERT INTO agent_questions (organization_id, agent_id, run_id, key, node_id, message, schema, approvers, until)
SELECT e.organization_id, e.agent_id, e.run_id, $3, $4, $5, $6::json,
	$7::json, $8
FROM agent_executions e JOIN agents a ON a.organization_id = e.organization_id AND a.id = e.agent_id
WHERE e.organization_id = $1 AND e.run_id = $2 FOR KEY SHARE OF a
ON CONFLICT ON CONSTRAINT agent_questions_key DO NOTHING`;
const BY_KEY = `SELECT ${COLUMNS} FROM agent_questions q WHERE q.organization_id = $1 AND q.run_id = $2 AND q.key = $3`;
const GET = `SELECT ${COLUMNS} FROM agent_questions q WHERE q.organization_id = $1 AND q.id = $2`;
const ANSWERED = `
UPDATE agent_questions SET answered_at = date_trunc('milliseconds', clock_timestamp()), answered_by = $4
WHERE organization_id = $1 AND run_id = $2 AND key = $3 AND answered_at IS NULL RETURNING id`;

const OPEN = `agent_questions q JOIN runs r ON r.organization_id = q.organization_id AND r.id = q.run_id
WHERE q.organization_id = $1 AND q.answered_at IS NULL AND r.finished_at IS NULL AND (q.until IS NULL OR q.until > now())`;
const ASKING = `
WITH RECURSIVE below AS (
	SELECT value::uuid AS top, value::uuid AS id FROM json_array_elements_text($2::json) AS value
	UNION SELECT b.top, c.id FROM runs c JOIN below b ON c.organization_id = $1 AND c.parent_id = b.id
)
SELECT DISTINCT ON (b.top) b.top AS id, q.agent_id AS "agentId", q.run_id AS "runId" FROM below b JOIN LATERAL (SELECT q.* FROM ${OPEN} AND q.run_id = b.id) q ON true
ORDER BY b.top, q.seq`;

/** A page of the questions that wait for an answer. */
export function open(beyond: string, direction: string): string {
	const long = ['message', 'schema'].map((name) => ({ name, column: `q.${name}` }));
	const { uptoBytes, isWithin } = uptoRow(long.map(({ column }) => bytesOf(column)).join(' + '), `q.seq ${direction}`);
	return `
SELECT q.seq, ${SHORT}, ${long.map(({ name, column }) => `CASE WHEN ${isWithin} THEN ${column} END AS ${name}`).join(', ')}, ${uptoBytes} AS "uptoBytes"
FROM ${OPEN}
	AND ($2::uuid IS NULL OR q.agent_id = $2) AND ($3::uuid IS NULL OR q.run_id = $3) AND ($6::text IS NULL OR q.key = $6) AND q.seq ${beyond} $4
ORDER BY q.seq ${direction} LIMIT $5`;
}

/** The columns by which a page is cut. */
type ListedQuestion = QuestionRow & { seq: string; uptoBytes: number };

type Questions = Pick<Agents, 'ask' | 'questions' | 'asking' | 'question' | 'questionOf' | 'answered'>;

export function createQuestions({ ordinary, write, once }: Database): Questions {
	return {
		ask: (organizationId, runId, { key, nodeId, message, schema, approvers, until }) =>
			write(async (transaction) => {
				const place = [uuid(organizationId), uuid(runId), key];
				const told = [nodeId, lenient(message), JSON.stringify(schema), approvers && JSON.stringify(approvers), until];
				await rows(ordinary, ASK, [...place, ...told], transaction);
				const [row] = await rows<QuestionRow>(ordinary, BY_KEY, place, transaction);
				return row ?? null;
			}),
		async questions(organizationId, page, { agentId, runId, key } = {}) {
			const walk = startWalk<ListedQuestion>('agent_questions', page);
			const ids = [agentId, runId].map((id) => (id === undefined ? null : uuid(id)));
			const bind = [uuid(organizationId), ...ids, walk.last.seq, page.limit + 1, key === undefined ? null : lenient(key)];
			const found = await rows<ListedQuestion>(ordinary, open(walk.beyond, walk.direction), bind);
			return toPage(walk, found, page, ({ seq: _seq, uptoBytes: _upto, ...row }): QuestionRow => row);
		},
		async asking(organizationId, runIds) {
			const found = await rows<AskedPlace & { id: string }>(ordinary, ASKING, [uuid(organizationId), JSON.stringify(runIds.map(uuid))]);
			return new Map(found.map(({ id, ...place }) => [id, place]));
		},
		async question(organizationId, id) {
			const [row] = await rows<QuestionRow>(ordinary, GET, [uuid(organizationId), uuid(id)]);
			return row ?? null;
		},
		async questionOf(organizationId, runId, key) {
			const [row] = await rows<QuestionRow>(ordinary, BY_KEY, [uuid(organizationId), uuid(runId), key]);
			return row ?? null;
		},
		answered: (organizationId, runId, key, by) =>
			once(async (transaction) => {
				const bind = [uuid(organizationId), uuid(runId), key, by && lenient(by)];
				return (await rows(ordinary, ANSWERED, bind, transaction)).length > 0;
			}),
	};
}
