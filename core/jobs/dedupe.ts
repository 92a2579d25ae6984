// The text under which a job is begun once: a digest, since a plugin's key may tell something of its client.

import { hash } from 'node:crypto';
import type { JobScope } from '../tools/job-desk.ts';

export const dedupeOf = ({ plugin, gateway }: JobScope, key: string): string =>
	hash('sha256', JSON.stringify([plugin, gateway?.id ?? null, key]), 'base64url');
