// The request log, partitioned by day, and the sums that are kept of it.

import type { Migration } from '../migrate.ts';

// Rows outlive the gateway, tool or key that they name, so the log has no foreign keys; it is read by its organization first. A partition is
// made for each day ahead of it; the default one holds what came unforeseen until `prepare` moves it.
const LOG = `
CREATE SEQUENCE request_log_seq;
CREATE TABLE request_log (
	seq bigint NOT NULL DEFAULT nextval('request_log_seq'),
	organization_id uuid NOT NULL,
	kind text NOT NULL,
	request_id text,
	gateway_id uuid,
	tool_id uuid,
	agent_id uuid,
	provider_id uuid,
	model text,
	key_id uuid,
	user_id uuid,
	caller text,
	method text,
	client text,
	user_agent text,
	status integer,
	outcome text NOT NULL,
	duration_ms double precision NOT NULL,
	upstream_ms double precision,
	waiting_ms double precision,
	bytes_in bigint,
	bytes_out bigint,
	input_tokens bigint,
	output_tokens bigint,
	cached_tokens bigint,
	cost double precision,
	started_at timestamptz NOT NULL
) PARTITION BY RANGE (started_at);
CREATE INDEX request_log_list ON request_log (organization_id, started_at, seq);
CREATE INDEX request_log_of_tool ON request_log (organization_id, tool_id, started_at, seq) WHERE tool_id IS NOT NULL;
CREATE INDEX request_log_failed ON request_log (organization_id, started_at, seq) WHERE outcome <> 'success';
CREATE INDEX request_log_of_request ON request_log (organization_id, request_id, started_at, seq);
CREATE TABLE request_log_default PARTITION OF request_log DEFAULT;
`;

// A cell sums the calls of one value of one dimension in one bucket of time; the dimension '' has the value '', and counts all calls. The
// free space lets an update stay on its page. Money is in millionths of a US dollar, and `unpriced` calls have an unknown cost.
const METRICS = `
CREATE TABLE metrics (
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	resolution text NOT NULL,
	kind text NOT NULL,
	dimension text NOT NULL,
	bucket timestamptz NOT NULL,
	value text NOT NULL,
	calls bigint NOT NULL,
	failed bigint NOT NULL,
	lost bigint NOT NULL,
	duration_ms double precision NOT NULL,
	upstream_ms double precision NOT NULL,
	waiting_ms double precision NOT NULL,
	bytes_in bigint NOT NULL,
	bytes_out bigint NOT NULL,
	input_tokens bigint NOT NULL,
	output_tokens bigint NOT NULL,
	cached_tokens bigint NOT NULL,
	cost double precision NOT NULL,
	unpriced bigint NOT NULL,
	histogram integer[] NOT NULL,
	sample text,
	PRIMARY KEY (organization_id, resolution, kind, dimension, bucket, value)
) PARTITION BY LIST (resolution);
CREATE INDEX metrics_of_value ON metrics (organization_id, resolution, kind, dimension, value, bucket);
CREATE INDEX metrics_age ON metrics USING brin (bucket) WITH (pages_per_range = 32);
CREATE TABLE metrics_live PARTITION OF metrics FOR VALUES IN ('live') WITH (fillfactor = 70);
CREATE TABLE metrics_minute PARTITION OF metrics FOR VALUES IN ('minute') WITH (fillfactor = 70);
CREATE TABLE metrics_hour PARTITION OF metrics FOR VALUES IN ('hour') WITH (fillfactor = 70);
CREATE TABLE metrics_day PARTITION OF metrics FOR VALUES IN ('day') WITH (fillfactor = 70);
CREATE TABLE request_batches (id uuid PRIMARY KEY, written_at timestamptz NOT NULL DEFAULT now());
`;

// Yesterday's is for records that wait for the database over midnight.
const PARTITIONS = `
DO $$
BEGIN
	FOR ahead IN -1..7 LOOP
		EXECUTE format('CREATE TABLE %I PARTITION OF request_log FOR VALUES FROM (%L) TO (%L)',
			'request_log_' || to_char((now() AT TIME ZONE 'UTC')::date + ahead, 'YYYYMMDD'),
			((now() AT TIME ZONE 'UTC')::date + ahead)::timestamp AT TIME ZONE 'UTC',
			((now() AT TIME ZONE 'UTC')::date + ahead + 1)::timestamp AT TIME ZONE 'UTC');
	END LOOP;
END $$`;

export const requestLog: Migration = { name: '0026-request-log', statements: [LOG, METRICS, PARTITIONS] };
