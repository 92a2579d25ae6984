// Rules of alerts, their incidents, and APIs whose document is watched.

import { retell, tell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

const RULES = `
CREATE TABLE alert_rules (
	id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	seq bigint GENERATED ALWAYS AS IDENTITY,
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	name text NOT NULL,
	kind text NOT NULL CHECK (kind IN ('error_rate', 'latency', 'credential', 'document')),
	tool_id uuid,
	api_id uuid,
	bound double precision,
	window_minutes integer NOT NULL,
	min_calls integer NOT NULL,
	url text NOT NULL,
	secret text NOT NULL,
	status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
	version integer NOT NULL DEFAULT 1,
	created_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	updated_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', now()),
	UNIQUE (organization_id, id),
	FOREIGN KEY (organization_id, tool_id) REFERENCES tools (organization_id, id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX alert_rules_list ON alert_rules (organization_id, seq);
CREATE INDEX alert_rules_active ON alert_rules (kind, id) WHERE status = 'active';
CREATE INDEX alert_rules_of_tool ON alert_rules (organization_id, tool_id) WHERE tool_id IS NOT NULL;
CREATE INDEX alert_rules_of_api ON alert_rules (organization_id, api_id) WHERE api_id IS NOT NULL;
CREATE TRIGGER revise BEFORE UPDATE ON alert_rules FOR EACH ROW EXECUTE FUNCTION revise();
`;

// An incident is open from its alert until its recovery was told. \`untold\` is the message that the receiver has not been sent yet; a message
// is kept with the change that it tells of, so that neither a crash nor a second replica loses or doubles it.
const INCIDENTS = `
CREATE TABLE alert_incidents (
	organization_id uuid NOT NULL,
	rule_id uuid NOT NULL,
	subject text NOT NULL,
	id uuid NOT NULL DEFAULT gen_random_uuid(),
	is_open boolean NOT NULL,
	digest text,
	untold json,
	opened_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (organization_id, rule_id, subject),
	FOREIGN KEY (organization_id, rule_id) REFERENCES alert_rules (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX alert_incidents_untold ON alert_incidents (opened_at) WHERE untold IS NOT NULL;
CREATE TABLE alert_looks (name text PRIMARY KEY, looked_at timestamptz NOT NULL);
`;

const WATCHES = `
ALTER TABLE apis ADD COLUMN watch text CHECK (watch IN ('daily'));
CREATE INDEX apis_watched ON apis (id) WHERE watch IS NOT NULL;
CREATE TABLE api_watches (
	organization_id uuid NOT NULL,
	api_id uuid NOT NULL,
	looked_at timestamptz NOT NULL,
	PRIMARY KEY (organization_id, api_id),
	FOREIGN KEY (organization_id, api_id) REFERENCES apis (organization_id, id) ON DELETE CASCADE
);
`;

export const alerts: Migration = {
	name: '0031-alerts',
	statements: [RULES, INCIDENTS, WATCHES, ...tell(31, 'alert_rules'), ...retell(31, 'apis')],
};
