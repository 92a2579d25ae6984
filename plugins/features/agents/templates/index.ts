// Agents to begin with, in the form in which agents are exported.

import type { AgentFile } from '../lifecycle/transfer.ts';
import { approveBeforeActing } from './approve-before-acting.ts';
import { classifyAndRoute } from './classify-and-route.ts';
import { extractToSchema } from './extract-to-schema.ts';
import { mapOverAList } from './map-over-a-list.ts';
import { nightlyReport } from './nightly-report.ts';
import { researchWithTools } from './research-with-tools.ts';
import { summarise } from './summarise.ts';
import { supportTriage } from './support-triage.ts';

export interface Template {
	id: string;
	title: string;
	/** One sentence. */
	summary: string;
	agent: AgentFile;
}

export const TEMPLATES: readonly Template[] = [
	...[summarise, classifyAndRoute, extractToSchema, researchWithTools],
	...[approveBeforeActing, mapOverAList, supportTriage, nightlyReport],
];
