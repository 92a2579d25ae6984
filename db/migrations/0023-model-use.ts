// The tokens and costs of the models that tools call, and the costs of runs and agents that have a budget.

import type { Migration } from '../migrate.ts';

// Tokens and costs of a run are null when it called no model, or a provider did not tell. The month of costs that count for ever is 'epoch'.
const STATEMENT = `
ALTER TABLE tool_runs
	ADD COLUMN model_calls integer,
	ADD COLUMN input_tokens bigint,
	ADD COLUMN output_tokens bigint,
	ADD COLUMN cached_tokens bigint,
	ADD COLUMN model_cost double precision;
ALTER TABLE llm_reservations ADD UNIQUE (organization_id, id);
CREATE TABLE llm_spending (
	organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
	holder text NOT NULL,
	month date NOT NULL,
	cost double precision NOT NULL DEFAULT 0,
	used_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (organization_id, holder, month)
);
CREATE INDEX llm_spending_age ON llm_spending (used_at);
CREATE TABLE llm_reservation_holders (
	organization_id uuid NOT NULL,
	reservation_id uuid NOT NULL,
	holder text NOT NULL,
	month date NOT NULL,
	PRIMARY KEY (reservation_id, holder),
	FOREIGN KEY (organization_id, reservation_id) REFERENCES llm_reservations (organization_id, id) ON DELETE CASCADE,
	FOREIGN KEY (organization_id, holder, month) REFERENCES llm_spending ON DELETE CASCADE
);
CREATE INDEX llm_reservation_holders_of ON llm_reservation_holders (organization_id, holder, month);
`;

export const modelUse: Migration = { name: '0023-model-use', statements: [STATEMENT] };
