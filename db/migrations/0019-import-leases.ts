// Replicas of the release before imports were runs, which serve beside newer ones while those are rolled out, take no imports any more.

import type { Migration } from '../migrate.ts';

// They name the columns of the lease, and would fail as internal without those. A lease is refused as what they know for a busy database: their
// clients get a 503 and try again, and reach a newer replica sooner or later. A later release drops the columns.
const LEASES = `
ALTER TABLE import_jobs ADD COLUMN lease uuid, ADD COLUMN leased_until timestamptz;
CREATE FUNCTION refuse_import_lease() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	RAISE EXCEPTION 'Imports are runs: a replica of a former release takes none.' USING ERRCODE = 'lock_not_available';
END
$function$;
CREATE TRIGGER refuse_lease BEFORE INSERT OR UPDATE ON import_jobs FOR EACH ROW WHEN (NEW.lease IS NOT NULL) EXECUTE FUNCTION refuse_import_lease();
`;

// They queue an import without a lease when their places are taken. It gets the run that it lacks, which a newer replica does.
const QUEUED = `
CREATE FUNCTION add_import_run() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
	INSERT INTO runs (id, organization_id, account_id, kind, status, trigger, definition, input)
	SELECT NEW.id, o.id, coalesce(o.created_by, o.id), 'import', 'queued', 'manual', 'null', json_build_object('apiId', NEW.api_id)
	FROM organizations o
	WHERE o.id = NEW.organization_id AND EXISTS (SELECT FROM import_jobs j WHERE j.id = NEW.id AND j.finished_at IS NULL)
	ON CONFLICT (id) DO NOTHING;
	RETURN NULL;
END
$function$;
CREATE CONSTRAINT TRIGGER add_run AFTER INSERT ON import_jobs DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.finished_at IS NULL) EXECUTE FUNCTION add_import_run();
`;

export const importLeases: Migration = { name: '0019-import-leases', statements: [LEASES, QUEUED] };
