// Versions of agents, and their schedules.

import { tell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// A version holds for the revisions of the agent that have its pipeline and its settings: a change of the status or the name makes a revision
// that runs as the one before did.
const VERSIONS = `
CREATE TABLE agent_versions (
	organization_id uuid NOT NULL,
	agent_id uuid NOT NULL,
	version_index integer NOT NULL CHECK (version_index >= 0),
	first_revision integer NOT NULL,
	last_revision integer NOT NULL,
	changelog text NOT NULL,
	restored_from integer,
	created_by text,
	name text NOT NULL,
	description text NOT NULL,
	pipeline json NOT NULL,
	settings json NOT NULL,
	chars integer NOT NULL,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	PRIMARY KEY (organization_id, agent_id, version_index),
	FOREIGN KEY (organization_id, agent_id) REFERENCES agents (organization_id, id) ON DELETE CASCADE
);
CREATE FUNCTION keep_agent_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE agent_versions SET last_revision = NEW.version
	WHERE organization_id = NEW.organization_id AND agent_id = NEW.id AND last_revision = OLD.version;
	RETURN NULL;
END $$;
CREATE TRIGGER keep_version AFTER UPDATE ON agents FOR EACH ROW
	WHEN (OLD.pipeline::text = NEW.pipeline::text AND OLD.settings::text = NEW.settings::text)
	EXECUTE FUNCTION keep_agent_version();
`;

// The engine's row has the next time, and goes with the agent's. `problem`: the latest time started no run.
const SCHEDULES = `
CREATE TABLE agent_schedules (
	organization_id uuid NOT NULL,
	agent_id uuid NOT NULL,
	cron text NOT NULL,
	time_zone text NOT NULL,
	overlap text NOT NULL CHECK (overlap IN ('skip', 'queue', 'allow')),
	missed text NOT NULL CHECK (missed IN ('skip', 'once')),
	input text NOT NULL,
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	PRIMARY KEY (organization_id, agent_id),
	FOREIGN KEY (organization_id, agent_id) REFERENCES agents (organization_id, id) ON DELETE CASCADE
);
CREATE TRIGGER revise BEFORE UPDATE ON agent_schedules FOR EACH ROW EXECUTE FUNCTION revise();
ALTER TABLE run_schedules ADD COLUMN agent_id uuid, ADD COLUMN problem text,
	ADD FOREIGN KEY (organization_id, agent_id) REFERENCES agent_schedules (organization_id, agent_id) ON DELETE CASCADE;
`;

export const agentVersions: Migration = {
	name: '0027-agent-versions',
	statements: [VERSIONS, SCHEDULES, ...['agent_versions', 'agent_schedules'].flatMap((table) => tell(27, table))],
};
