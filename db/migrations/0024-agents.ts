// Agents of an organization: their pipelines, their executions, what these ask people, the webhooks that start them, and keys for one agent.

import { retell, tell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// A usage row counts a month (UTC) of an agent, and stays when its executions are pruned; money is in millionths of a US dollar. `unpriced`
// calls have an unknown cost, which is no part of `cost`. An execution goes with its run.
const AGENTS = `
CREATE TABLE agents (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	name text NOT NULL,
	description text NOT NULL,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
	pipeline json NOT NULL,
	settings json NOT NULL,
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id)
);
CREATE INDEX agents_list ON agents (organization_id, seq);
CREATE TRIGGER revise BEFORE UPDATE ON agents FOR EACH ROW EXECUTE FUNCTION revise();
CREATE TABLE agent_usage (
	organization_id uuid NOT NULL,
	agent_id uuid NOT NULL,
	month date NOT NULL,
	executions bigint NOT NULL DEFAULT 0,
	unpriced bigint NOT NULL DEFAULT 0,
	tokens bigint NOT NULL DEFAULT 0,
	cost double precision NOT NULL DEFAULT 0,
	PRIMARY KEY (agent_id, month),
	FOREIGN KEY (organization_id, agent_id) REFERENCES agents (organization_id, id) ON DELETE CASCADE
);
CREATE TABLE agent_executions (
	run_id uuid PRIMARY KEY,
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	agent_id uuid NOT NULL,
	revision integer NOT NULL,
	started_by text,
	tokens bigint NOT NULL DEFAULT 0,
	cost double precision NOT NULL DEFAULT 0,
	unpriced integer NOT NULL DEFAULT 0,
	UNIQUE (organization_id, run_id),
	FOREIGN KEY (organization_id, run_id) REFERENCES runs (organization_id, id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, agent_id) REFERENCES agents (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX agent_executions_list ON agent_executions (organization_id, agent_id, seq);
`;

// A question belongs to its execution; an answer is a signal of the run, and is only noted here.
const QUESTIONS = `
CREATE TABLE agent_questions (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	agent_id uuid NOT NULL,
	run_id uuid NOT NULL,
	key text NOT NULL,
	node_id text NOT NULL,
	message text NOT NULL,
	schema json NOT NULL,
	approvers json,
	until timestamptz,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	answered_at timestamptz,
	answered_by text,
	CONSTRAINT agent_questions_key UNIQUE (run_id, key),
	FOREIGN KEY (organization_id, run_id) REFERENCES agent_executions (organization_id, run_id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, agent_id) REFERENCES agents (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX agent_questions_open ON agent_questions (organization_id, seq) WHERE answered_at IS NULL;
`;

const WEBHOOKS = `
CREATE TABLE agent_webhooks (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL,
	agent_id uuid NOT NULL,
	name text NOT NULL,
	scheme text NOT NULL CHECK (scheme IN ('standard', 'sha256')),
	secret text NOT NULL,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id),
	FOREIGN KEY (organization_id, agent_id) REFERENCES agents (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX agent_webhooks_list ON agent_webhooks (organization_id, agent_id, seq);
CREATE TRIGGER revise BEFORE UPDATE ON agent_webhooks FOR EACH ROW EXECUTE FUNCTION revise();
`;

const KEYS = `
ALTER TABLE access_keys ADD COLUMN agent_id uuid;
ALTER TABLE access_keys DROP CONSTRAINT access_keys_scope,
	ADD CONSTRAINT access_keys_scope CHECK ((organization_id IS NULL) = (gateway_id IS NULL AND agent_id IS NULL)),
	ADD CONSTRAINT access_keys_one_resource CHECK (gateway_id IS NULL OR agent_id IS NULL),
	ADD FOREIGN KEY (organization_id, agent_id) REFERENCES agents (organization_id, id) ON DELETE CASCADE;
CREATE INDEX access_keys_agent ON access_keys (organization_id, agent_id) WHERE agent_id IS NOT NULL;
`;

export const agents: Migration = {
	name: '0024-agents',
	statements: [
		...[AGENTS, QUESTIONS, WEBHOOKS, KEYS],
		...['agents', 'agent_questions', 'agent_webhooks'].flatMap((table) => tell(24, table)),
		...retell(24, 'access_keys'),
	],
};
