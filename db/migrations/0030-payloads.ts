// Arguments and results in the request log, where a gateway has them kept, and the programs that clients say they are.

import { retell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

// Null: nothing is kept.
const COLUMNS = `
ALTER TABLE gateways ADD COLUMN payload_log json;
ALTER TABLE request_log ADD COLUMN client_info text, ADD COLUMN arguments text, ADD COLUMN result text;
`;

export const payloads: Migration = { name: '0030-payloads', statements: [COLUMNS, ...retell(30, 'gateways')] };
