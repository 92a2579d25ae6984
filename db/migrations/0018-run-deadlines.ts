// Runs that nobody takes are found by their deadline.

import type { Migration } from '../migrate.ts';

const DEADLINES = `
CREATE INDEX runs_deadline ON runs (deadline_at) WHERE finished_at IS NULL AND deadline_at IS NOT NULL;
`;

export const runDeadlines: Migration = { name: '0018-run-deadlines', statements: [DEADLINES] };
