// Imports as jobs: a request is kept until it is done, so that another replica, or the next start, can continue it.

import { tell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// `lease` belongs to the replica that runs the job. `schema_id` is set in the transaction that writes the schema: from then on only the
// tools that `tool_filter` admits are left to make.
const JOBS = `
CREATE TABLE import_jobs (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	api_id uuid NOT NULL,
	actor json NOT NULL,
	status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
	phase text CHECK (phase IN ('fetching', 'parsing', 'writing', 'tools')),
	operations integer NOT NULL DEFAULT 0,
	attempts integer NOT NULL DEFAULT 0,
	body_bytes integer NOT NULL,
	schema_id uuid,
	tool_filter json,
	tools json,
	error json,
	lease uuid,
	leased_until timestamptz,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	started_at timestamptz,
	finished_at timestamptz,
	UNIQUE (organization_id, id),
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE,
	CHECK ((status = 'running') = (lease IS NOT NULL)),
	CHECK ((lease IS NULL) = (leased_until IS NULL)),
	CHECK ((status IN ('queued', 'running')) = (finished_at IS NULL)),
	CHECK ((status = 'failed') = (error IS NOT NULL))
);
CREATE UNIQUE INDEX import_jobs_active ON import_jobs (api_id) WHERE finished_at IS NULL;
CREATE INDEX import_jobs_queue ON import_jobs (seq) WHERE finished_at IS NULL;
CREATE INDEX import_jobs_list ON import_jobs (organization_id, api_id, seq);
CREATE INDEX import_jobs_age ON import_jobs (finished_at);
`;

// Up to 64 MiB, in parts: no message to or from the database is so large that reading it blocks the event loop. Not compressed, since it is
// read once, and removed within a minute.
const BODIES = `
CREATE TABLE import_bodies (
	organization_id uuid NOT NULL,
	job_id uuid NOT NULL,
	part integer NOT NULL,
	bytes bytea NOT NULL,
	PRIMARY KEY (job_id, part),
	FOREIGN KEY (organization_id, job_id) REFERENCES import_jobs (organization_id, id) ON DELETE CASCADE
);
ALTER TABLE import_bodies ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE FUNCTION drop_import_body() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	DELETE FROM import_bodies WHERE job_id = NEW.id;
	RETURN NULL;
END
$function$;
CREATE TRIGGER drop_body AFTER UPDATE ON import_jobs FOR EACH ROW
WHEN (NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL) EXECUTE FUNCTION drop_import_body();
`;

// The renewal of a lease is not announced.
const ANNOUNCE = `
CREATE FUNCTION announce_import() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
	job import_jobs := coalesce(NEW, OLD);
BEGIN
	INSERT INTO changes (topic) VALUES ('import:' || job.id);
	IF TG_OP <> 'DELETE' AND job.status = 'queued' THEN
		INSERT INTO changes (topic) VALUES ('import:queued');
	END IF;
	PERFORM pg_notify('gatehouse_changes', 'import');
	RETURN NULL;
END
$function$;
CREATE TRIGGER announce_insert AFTER INSERT ON import_jobs FOR EACH ROW EXECUTE FUNCTION announce_import();
CREATE TRIGGER announce_update AFTER UPDATE ON import_jobs FOR EACH ROW
WHEN ((OLD.status, OLD.phase, OLD.operations, OLD.schema_id) IS DISTINCT FROM (NEW.status, NEW.phase, NEW.operations, NEW.schema_id))
EXECUTE FUNCTION announce_import();
CREATE TRIGGER announce_delete AFTER DELETE ON import_jobs FOR EACH ROW EXECUTE FUNCTION announce_import();
`;

export const importJobs: Migration = {
	name: '0008-import-jobs',
	statements: [JOBS, BODIES, ANNOUNCE, ...tell(8, 'import_jobs')],
};
