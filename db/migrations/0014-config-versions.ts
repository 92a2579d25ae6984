// The version of its plugin's config with which a row was written.

import type { Migration } from '../migrate.ts';

// Configs of former releases have the first version.
const column = (table: string): string => `ALTER TABLE ${table} ADD COLUMN config_version integer NOT NULL DEFAULT 1;`;

export const configVersions: Migration = { name: '0014-config-versions', statements: ['gateways', 'gateway_auth', 'tools'].map(column) };
