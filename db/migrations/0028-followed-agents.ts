// A column of tools: the agent whose input schema their parameters are. It may name one that is gone, whose schema they keep.

import type { Migration } from '../migrate.ts';

const COLUMN = 'ALTER TABLE tools ADD COLUMN follows_agent uuid';
const INDEX = 'CREATE INDEX tools_follows_agent ON tools (organization_id, follows_agent) WHERE follows_agent IS NOT NULL';

export const followedAgents: Migration = { name: '0028-followed-agents', statements: [COLUMN, INDEX] };
