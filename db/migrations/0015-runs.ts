// Runs: work that outlives a request, with its steps, its signals and its schedules.

import type { Migration } from '../migrate.ts';

// `job_id` is the run's turn at the engine: only a job of this id takes it, and each claim raises `job_try`, so that a holder that was
// too slow changes nothing. A queued run without a job waits until others of its account have ended. `due_at` is when the job is due.
const RUNS = `
CREATE TABLE runs (
	id uuid PRIMARY KEY,
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	account_id uuid NOT NULL,
	kind text NOT NULL,
	status text NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')),
	trigger text NOT NULL CHECK (trigger IN ('manual', 'webhook', 'schedule')),
	definition json NOT NULL,
	input json NOT NULL,
	output json,
	error json,
	progress json,
	attempt integer NOT NULL DEFAULT 0,
	priority integer NOT NULL DEFAULT 0,
	parent_id uuid,
	origin_id uuid,
	schedule text,
	scheduled_for timestamptz,
	deadline_at timestamptz,
	dedupe text,
	on_loss text NOT NULL DEFAULT 'resume' CHECK (on_loss IN ('resume', 'fail')),
	here boolean NOT NULL DEFAULT false,
	job_id uuid,
	job_try integer,
	due_at timestamptz,
	awaited text[] NOT NULL DEFAULT '{}',
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
	started_at timestamptz,
	finished_at timestamptz,
	UNIQUE (organization_id, id),
	CHECK ((status IN ('queued', 'running', 'waiting')) = (finished_at IS NULL)),
	CHECK (finished_at IS NULL OR job_id IS NULL),
	CHECK ((status IN ('failed', 'cancelled')) = (error IS NOT NULL))
);
CREATE UNIQUE INDEX runs_dedupe ON runs (organization_id, kind, md5(dedupe)) WHERE dedupe IS NOT NULL;
CREATE INDEX runs_live ON runs (kind) WHERE finished_at IS NULL AND (status <> 'waiting' OR job_id IS NOT NULL);
CREATE INDEX runs_account ON runs (account_id, kind) WHERE status IN ('queued', 'running');
CREATE INDEX runs_unfinished ON runs (account_id, kind) WHERE finished_at IS NULL;
CREATE INDEX runs_list ON runs (organization_id, kind, seq);
CREATE INDEX runs_children ON runs (organization_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX runs_schedule ON runs (organization_id, schedule) WHERE schedule IS NOT NULL AND finished_at IS NULL;
CREATE INDEX runs_age ON runs (finished_at);
`;

const STEPS = `
CREATE TABLE run_steps (
	organization_id uuid NOT NULL,
	run_id uuid NOT NULL,
	key text NOT NULL,
	attempt integer NOT NULL,
	status text NOT NULL CHECK (status IN ('started', 'done', 'failed')),
	once boolean NOT NULL,
	output json,
	error json,
	until timestamptz,
	started_at timestamptz NOT NULL,
	finished_at timestamptz,
	PRIMARY KEY (run_id, key),
	FOREIGN KEY (organization_id, run_id) REFERENCES runs (organization_id, id) ON DELETE CASCADE
);
CREATE TABLE run_signals (
	organization_id uuid NOT NULL,
	run_id uuid NOT NULL,
	name text NOT NULL,
	payload json NOT NULL,
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (run_id, name),
	FOREIGN KEY (organization_id, run_id) REFERENCES runs (organization_id, id) ON DELETE CASCADE
);
`;

// A schedule that will never be due again has no `next_at`.
const SCHEDULES = `
CREATE TABLE run_schedules (
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	key text NOT NULL,
	kind text NOT NULL,
	cron text NOT NULL,
	time_zone text NOT NULL,
	missed text NOT NULL CHECK (missed IN ('skip', 'once')),
	overlap text NOT NULL CHECK (overlap IN ('skip', 'queue', 'allow')),
	definition json NOT NULL,
	input json NOT NULL,
	next_at timestamptz,
	PRIMARY KEY (organization_id, key)
);
CREATE INDEX run_schedules_due ON run_schedules (next_at) WHERE next_at IS NOT NULL;
`;

export const runs: Migration = { name: '0015-runs', statements: [RUNS, STEPS, SCHEDULES] };
