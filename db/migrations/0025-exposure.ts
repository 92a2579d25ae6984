// A column of organizations: how clients list the tools of all gateways.

import { retell } from '../audited.ts';
import type { Migration } from '../migrate.ts';

const COLUMN = `
ALTER TABLE organizations ADD COLUMN tool_exposure text NOT NULL DEFAULT 'full' CHECK (tool_exposure IN ('full', 'search', 'code'))`;

export const exposure: Migration = { name: '0025-exposure', statements: [COLUMN, ...retell(25, 'organizations')] };
