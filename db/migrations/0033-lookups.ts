// Indexes for lists and removals that read whole tables: executions by their state and their trigger, and foreign keys that had none.

import type { Migration } from '../migrate.ts';

const STATE = `CASE WHEN r.finished_at IS NULL THEN 'running' WHEN r.status = 'succeeded' THEN 'success' ELSE 'failed' END`;

// Most who write an execution lock its agent first, and its run before the execution; so does this, or else each would wait for the other.
const FOLLOW = `
LOCK TABLE agents IN EXCLUSIVE MODE;
CREATE OR REPLACE FUNCTION execution_follows_run() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	UPDATE agent_executions SET trigger = NEW.trigger, state = CASE NEW.status WHEN 'succeeded' THEN 'success' ELSE 'failed' END
	WHERE run_id = NEW.id;
	RETURN NULL;
END
$function$;
DO $do$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'runs'::regclass AND tgname = 'execution_follows') THEN
		CREATE TRIGGER execution_follows AFTER UPDATE ON runs FOR EACH ROW
		WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL) EXECUTE FUNCTION execution_follows_run();
	END IF;
END $do$;
`;

// Two columns of the run, kept beside the execution: an index has the columns of one table. The state is a word of the list's filter.
const COLUMNS = `
ALTER TABLE agent_executions ADD COLUMN IF NOT EXISTS trigger text, ADD COLUMN IF NOT EXISTS state text;
CREATE INDEX IF NOT EXISTS agent_executions_of_state ON agent_executions (agent_id, state, seq);
CREATE INDEX IF NOT EXISTS agent_executions_of_trigger ON agent_executions (agent_id, trigger, seq);
CREATE INDEX IF NOT EXISTS agent_executions_of_both ON agent_executions (agent_id, trigger, state, seq);
`;

// The run is locked, so that it does not end between the read and the commit. Triggers serve replicas of the release before, too.
const BEGIN = `
CREATE OR REPLACE FUNCTION show_run() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	SELECT r.trigger, ${STATE} INTO NEW.trigger, NEW.state
	FROM runs r WHERE r.organization_id = NEW.organization_id AND r.id = NEW.run_id FOR SHARE;
	RETURN NEW;
END
$function$;
DROP TRIGGER IF EXISTS show_run ON agent_executions;
CREATE TRIGGER show_run BEFORE INSERT ON agent_executions FOR EACH ROW EXECUTE FUNCTION show_run();
`;

// A removal looks for the rows that refer to the removed one. That of sessions left out those that have ended.
const REFERRERS = `
CREATE INDEX IF NOT EXISTS agent_questions_of_agent ON agent_questions (organization_id, agent_id);
CREATE INDEX IF NOT EXISTS agent_questions_open_of_agent ON agent_questions (agent_id, seq) WHERE answered_at IS NULL;
CREATE INDEX IF NOT EXISTS run_schedules_of_agent ON run_schedules (organization_id, agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idempotency_keys_of_organization ON idempotency_keys (organization_id) WHERE organization_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS invitations_invited_by ON invitations (invited_by);
CREATE INDEX IF NOT EXISTS invitations_accepted_by ON invitations (accepted_by) WHERE accepted_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS sessions_of_user ON sessions (user_id);
DROP INDEX IF EXISTS sessions_user;
`;

// A run that ends meanwhile has written the state before or does so after; either way its own counts.
const FILL = `
WITH page AS (SELECT run_id FROM agent_executions WHERE run_id > $1 ORDER BY run_id LIMIT 5000),
filled AS (
	UPDATE agent_executions e SET trigger = r.trigger, state = ${STATE}
	FROM page p JOIN runs r ON r.id = p.run_id WHERE e.run_id = p.run_id AND e.state IS NULL
)
SELECT run_id AS last FROM page ORDER BY run_id DESC LIMIT 1`;

export const lookups: Migration = { name: '0033-lookups', statements: [FOLLOW, COLUMNS, BEGIN, REFERRERS], fill: FILL };
