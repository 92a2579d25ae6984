// The report of an import: counts, every operation that was not converted completely, and warnings, all of them bounded.

import type { CredentialType, JsonObject, Operation, SchemaSummary } from '../contract/nouns.ts';

// Type aliases, since these are stored as JSON documents: an interface has no index signature.
export type OperationReport = { key: string; name: string; outcome: 'degraded' | 'skipped'; reasons: string[] };
export type ImportWarning = { message: string; pointer?: string };
export type ImportReport = {
	format: string;
	title: string | null;
	version: string | null;
	servers: string[];
	/** The credentials that the description declares, up to 50. Absent in reports of former releases. */
	credentials?: { scheme: string; type: CredentialType; credentials: JsonObject }[];
	counts: { operations: number; converted: number; degraded: number; skipped: number };
	/** All operations that are not `converted`, up to 2,000. */
	operations: OperationReport[];
	warnings: ImportWarning[];
};

const MAX_OPERATIONS = 2_000;
const MAX_WARNINGS = 100;
export const MAX_PRESETS = 50;
const MAX_REASONS = 20;
const MAX_CHARS = 500;

export interface ReportWriter {
	count(operation: Operation): void;
	warn(fields: object, message: string): void;
	finish(summary: SchemaSummary): ImportReport;
}

export function createReport(): ReportWriter {
	const counts = { operations: 0, converted: 0, degraded: 0, skipped: 0 };
	const operations: OperationReport[] = [];
	const warnings: ImportWarning[] = [];
	return {
		count({ key, name, outcome, reasons }) {
			counts.operations++;
			counts[outcome]++;
			if (outcome === 'converted' || operations.length >= MAX_OPERATIONS) return;
			operations.push({ key: bounded(key), name: bounded(name), outcome, reasons: reasons.slice(0, MAX_REASONS).map(bounded) });
		},
		warn(fields, message) {
			if (warnings.length >= MAX_WARNINGS) return;
			const { pointer } = fields as { pointer?: unknown };
			warnings.push(typeof pointer === 'string' ? { message: bounded(message), pointer: bounded(pointer) } : { message: bounded(message) });
		},
		finish: ({ format, title, version, servers, credentials = [] }) => {
			const presets = credentials.slice(0, MAX_PRESETS).map((preset) => ({ ...preset }));
			return { format, title, version, servers, credentials: presets, counts, operations, warnings };
		},
	};
}

const bounded = (text: string): string => (text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text);
