// All migrations, in order. Loaded only where one is missing.

import type { Migration } from '../migrate.ts';
import { foundation } from './0001-foundation.ts';
import { identity } from './0002-identity.ts';
import { audit } from './0003-audit.ts';
import { contract } from './0004-contract.ts';
import { records } from './0005-records.ts';
import { imports } from './0006-imports.ts';
import { upstreamTokens } from './0007-upstream-tokens.ts';
import { importJobs } from './0008-import-jobs.ts';
import { code } from './0009-code.ts';
import { creators } from './0010-creators.ts';
import { credentialSchemes } from './0011-credential-schemes.ts';
import { argumentLayers } from './0012-argument-layers.ts';
import { passThrough } from './0013-pass-through.ts';
import { configVersions } from './0014-config-versions.ts';
import { runs } from './0015-runs.ts';
import { recordQueries } from './0016-record-queries.ts';
import { importRuns } from './0017-import-runs.ts';
import { runDeadlines } from './0018-run-deadlines.ts';
import { importLeases } from './0019-import-leases.ts';
import { skills } from './0020-skills.ts';
import { results } from './0021-results.ts';
import { llmProviders } from './0022-llm-providers.ts';
import { modelUse } from './0023-model-use.ts';
import { agents } from './0024-agents.ts';
import { exposure } from './0025-exposure.ts';
import { requestLog } from './0026-request-log.ts';
import { agentVersions } from './0027-agent-versions.ts';
import { followedAgents } from './0028-followed-agents.ts';
import { auditChain } from './0029-audit-chain.ts';
import { payloads } from './0030-payloads.ts';
import { alerts } from './0031-alerts.ts';
import { printed } from './0032-printed.ts';
import { lookups } from './0033-lookups.ts';
import { sources } from './0034-sources.ts';

/** All migrations, in order. */
export const MIGRATIONS: Migration[] = [
	foundation,
	identity,
	audit,
	contract,
	records,
	imports,
	upstreamTokens,
	importJobs,
	code,
	creators,
	credentialSchemes,
	argumentLayers,
	passThrough,
	configVersions,
	runs,
	recordQueries,
	importRuns,
	runDeadlines,
	importLeases,
	skills,
	results,
	llmProviders,
	modelUse,
	agents,
	exposure,
	requestLog,
	agentVersions,
	followedAgents,
	auditChain,
	payloads,
	alerts,
	printed,
	lookups,
	sources,
];
