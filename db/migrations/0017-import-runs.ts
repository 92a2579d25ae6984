// Imports become runs: an import has the id of its run, which says whose turn it is.

import type { Migration } from '../migrate.ts';

// A replica of an older release that holds an import finds no lease any more: it writes nothing, and gives up within seconds. All imports that
// were under way are begun anew, with the bodies that are stored; where the schema is written, only the tools are made.
const IMPORTS = `
ALTER TABLE import_jobs DROP COLUMN lease, DROP COLUMN leased_until;
DROP INDEX import_jobs_queue;
UPDATE import_jobs SET status = 'queued', attempts = greatest(0, attempts - 1), phase = CASE WHEN schema_id IS NOT NULL THEN phase END,
	operations = CASE WHEN schema_id IS NULL THEN 0 ELSE operations END
WHERE status = 'running';
INSERT INTO runs (id, organization_id, account_id, kind, status, trigger, definition, input)
SELECT j.id, j.organization_id, coalesce(o.created_by, o.id), 'import', 'queued', 'manual', 'null', json_build_object('apiId', j.api_id)
FROM import_jobs j JOIN organizations o ON o.id = j.organization_id WHERE j.finished_at IS NULL ORDER BY j.seq;
`;

// An import is queued, runs and ends with its run, in the same transaction. It has usually ended before, with a result of its own. Attempts
// that were given back do not count; a run that loses its job waits for others of its account, and is not given back.
const FOLLOW = `
CREATE FUNCTION import_follows_run() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	IF NEW.finished_at IS NOT NULL THEN
		UPDATE import_jobs SET status = CASE WHEN NEW.status = 'cancelled' THEN 'cancelled' ELSE 'failed' END, finished_at = NEW.finished_at,
			error = CASE WHEN NEW.status <> 'cancelled' THEN json_build_object(
				'code', 'internal', 'message', coalesce(NEW.error ->> 'message', 'The import ended without a result.'), 'details', json_build_array()
			) END
		WHERE id = NEW.id AND finished_at IS NULL;
	ELSIF NEW.status = 'running' THEN
		UPDATE import_jobs SET status = 'running', attempts = attempts + 1, started_at = coalesce(started_at, NEW.started_at),
			phase = CASE WHEN schema_id IS NULL THEN 'fetching' ELSE 'tools' END,
			operations = CASE WHEN schema_id IS NULL THEN 0 ELSE operations END
		WHERE id = NEW.id AND finished_at IS NULL;
	ELSIF OLD.status = 'running' THEN
		UPDATE import_jobs SET status = 'queued', attempts = attempts - CASE WHEN NEW.job_id IS NULL THEN 0 ELSE 1 END,
			phase = CASE WHEN schema_id IS NOT NULL THEN phase END, operations = CASE WHEN schema_id IS NULL THEN 0 ELSE operations END
		WHERE id = NEW.id AND finished_at IS NULL;
	END IF;
	RETURN NULL;
END
$function$;
CREATE TRIGGER import_begins AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.kind = 'import') EXECUTE FUNCTION import_follows_run();
CREATE TRIGGER import_follows AFTER UPDATE ON runs FOR EACH ROW
WHEN (NEW.kind = 'import' AND (OLD.status, OLD.attempt) IS DISTINCT FROM (NEW.status, NEW.attempt))
EXECUTE FUNCTION import_follows_run();
`;

// An import that is removed, mostly with its API, takes its run along, and whoever runs it hears of that. A run is locked before its import:
// by those who claim and end it, and so by the removal of an API, too; an import that has just ended may
// still have a run whose holder tells something of it.
const REMOVAL = `
CREATE FUNCTION lock_import_run() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	PERFORM FROM runs WHERE id IN (SELECT id FROM import_jobs WHERE organization_id = OLD.organization_id AND api_id = OLD.id) ORDER BY id FOR UPDATE;
	RETURN OLD;
END
$function$;
CREATE TRIGGER lock_import_run BEFORE DELETE ON apis FOR EACH ROW EXECUTE FUNCTION lock_import_run();
CREATE FUNCTION drop_import_run() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	DELETE FROM runs WHERE organization_id = OLD.organization_id AND id = OLD.id AND kind = 'import';
	IF OLD.finished_at IS NULL THEN
		PERFORM pg_notify('gatehouse_spoken', 'run:ended:' || OLD.id);
	END IF;
	RETURN NULL;
END
$function$;
CREATE TRIGGER drop_run AFTER DELETE ON import_jobs FOR EACH ROW EXECUTE FUNCTION drop_import_run();
`;

// Runs announce who is queued.
const ANNOUNCE = `
CREATE OR REPLACE FUNCTION announce_import() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
	job import_jobs := coalesce(NEW, OLD);
BEGIN
	INSERT INTO changes (topic) VALUES ('import:' || job.id);
	PERFORM pg_notify('gatehouse_changes', 'import');
	RETURN NULL;
END
$function$;
`;

export const importRuns: Migration = { name: '0017-import-runs', statements: [IMPORTS, FOLLOW, REMOVAL, ANNOUNCE] };
