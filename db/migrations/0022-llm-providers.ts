// Model connections of an organization, and what their calls used and cost.

import { tell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// A usage row counts a month (UTC) of a connection; money is in millionths of a US dollar. `unpriced` calls have an unknown cost, which is
// no part of `cost`. A reservation is the most that a call under way may cost; one whose process died ends by itself.
const TABLES = `
CREATE TABLE llm_providers (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	name text NOT NULL,
	provider text NOT NULL,
	connection json NOT NULL,
	config_version integer NOT NULL DEFAULT 1,
	model text,
	configuration json NOT NULL,
	prices json,
	budget json,
	outbound json,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id)
);
CREATE INDEX llm_providers_list ON llm_providers (organization_id, seq);
CREATE TRIGGER revise BEFORE UPDATE ON llm_providers FOR EACH ROW EXECUTE FUNCTION revise();
CREATE TABLE llm_usage (
	organization_id uuid NOT NULL,
	provider_id uuid NOT NULL,
	month date NOT NULL,
	calls bigint NOT NULL DEFAULT 0,
	unpriced bigint NOT NULL DEFAULT 0,
	input_tokens bigint NOT NULL DEFAULT 0,
	output_tokens bigint NOT NULL DEFAULT 0,
	cached_tokens bigint NOT NULL DEFAULT 0,
	cost double precision NOT NULL DEFAULT 0,
	PRIMARY KEY (provider_id, month),
	FOREIGN KEY (organization_id, provider_id) REFERENCES llm_providers (organization_id, id) ON DELETE CASCADE
);
CREATE TABLE llm_reservations (
	id uuid PRIMARY KEY,
	organization_id uuid NOT NULL,
	provider_id uuid NOT NULL,
	cost double precision NOT NULL,
	expires_at timestamptz NOT NULL,
	FOREIGN KEY (organization_id, provider_id) REFERENCES llm_providers (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX llm_reservations_of ON llm_reservations (provider_id);
`;

export const llmProviders: Migration = { name: '0022-llm-providers', statements: [TABLES, ...tell(22, 'llm_providers')] };
