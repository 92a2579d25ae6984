// Why a call of a tool at a gateway would be admitted or refused: each step asks what the call would ask.

import type { ArgumentChecks } from '../arguments/checks.ts';
import { ERRORS, type ErrorCode, GatewayError } from '../contract/errors.ts';
import type { Caller, Json, ToolRef } from '../contract/nouns.ts';
import { ANONYMOUS } from '../gateways/check-caller.ts';
import type { MountedGateway } from '../gateways/mount.ts';
import type { Runtime } from '../gateways/runtime.ts';
import type { Limits, Looked } from '../limits/limits.ts';
import type { Standing } from '../limits/windows.ts';
import type { GatewayRow, Store } from '../store/store.ts';
import type { Services } from '../tools/call-parts.ts';
import type { ToolEntry } from '../tools/entry.ts';
import { scopeMissing } from '../tools/scope-missing.ts';
import { admitting, type SampleRequest } from './admitting.ts';
import { runningSteps } from './running.ts';
import { Refused, refusedStep, STEPS, type Step, type StepName } from './steps.ts';

export interface Explained {
	verdict: 'admitted' | 'refused';
	/** The error that the call would get; null when it would run. */
	code: ErrorCode | null;
	status: number | null;
	message: string;
	caller: { subject: string; method: string; scopes: readonly string[] } | null;
	steps: Step[];
}

export interface ExplainRequest extends SampleRequest {
	organizationSlug: string;
	gateway: GatewayRow;
	/** Null: only the way to the gateway is explained. */
	tool: ToolRef | null;
	/** Null when none were given. */
	args: Json | null;
	requestId: string;
	signal: AbortSignal;
	/** @throws rate_limited */
	onBadCredential(): Promise<void>;
}

export type Explain = (asked: ExplainRequest) => Promise<Explained>;

interface ExplainParts {
	runtime: Pick<Runtime, 'mounted' | 'identityAt'>;
	services: Services;
	limits: Pick<Limits, 'lookAt'>;
	argumentChecks: Pick<ArgumentChecks, 'complete'>;
	store: Pick<Store, 'tools'>;
}

/** The steps so far, and the caller that they have found. */
interface Path {
	steps: Step[];
	caller: Caller | null;
}

export const createExplain =
	(parts: ExplainParts): Explain =>
	async (asked) => {
		const path: Path = { steps: [], caller: null };
		const refusal = await walk(asked, path, parts).then(
			() => null,
			(thrown: unknown) => {
				if (!(thrown instanceof Refused)) throw thrown;
				path.steps.push(thrown.step);
				return thrown.step;
			},
		);
		const { code = null } = refusal ?? {};
		const message = refusal?.message ?? (asked.tool ? 'The tool would run.' : 'The gateway admits the caller.');
		return {
			...{ verdict: refusal ? 'refused' : 'admitted', code, status: code && ERRORS[code], message },
			caller: path.caller && { subject: path.caller.subject, method: path.caller.method, scopes: path.caller.scopes },
			steps: [...path.steps, ...unknown(path.steps, asked)],
		};
	};

/** @throws Refused */
async function walk(asked: ExplainRequest, path: Path, parts: ExplainParts): Promise<void> {
	const { steps } = path;
	const mounted = await findGateway(asked, parts);
	steps.push({ step: 'gateway', outcome: 'passed', message: 'The gateway is active.' });
	const { gatewayId, address } = { gatewayId: mounted.gateway.id, address: asked.address };
	const before = await parts.limits.lookAt({ gatewayId, subject: null, address, tool: null });
	assertRoom('address', before.full === 'failures' ? before.failures : null, 'This address has sent too many bad credentials.');
	steps.push({ step: 'address', outcome: 'passed', message: 'The address may try credentials.' });
	const caller = await authenticated(asked, mounted, path, parts);
	path.caller = caller;
	const subject = caller.subject === ANONYMOUS ? null : caller.subject;
	const at = await parts.limits.lookAt({ gatewayId, subject, address, tool: null });
	assertRoom('rate_limit', at.full === 'gateway' ? at.gateway : null, 'Too many requests at this gateway.');
	steps.push(windowStep('rate_limit', at.gateway));
	if (!asked.tool) return;
	assertScope(caller);
	steps.push({ step: 'scope', outcome: 'passed', message: 'The caller may call tools.' });
	const entry = await findTool(asked, mounted, parts);
	steps.push({ step: 'tool', outcome: 'passed', message: `The gateway has the tool as "${entry.tool.name}".` });
	const looked = entry.limit ? await parts.limits.lookAt({ gatewayId, subject, address, tool: entry.limit }) : NOT_LIMITED;
	assertRoom('tool_rate_limit', looked.full === 'tool' ? looked.tool : null, 'Too many calls of this tool.');
	steps.push(windowStep('tool_rate_limit', looked.tool));
	steps.push(...(await runningSteps(entry, asked.args, { ...parts, signal: asked.signal })));
}

const NOT_LIMITED: Looked = { failures: null, gateway: null, tool: null, full: null };

async function findGateway({ organizationSlug, gateway }: ExplainRequest, { runtime }: ExplainParts): Promise<MountedGateway> {
	try {
		const mounted = await runtime.mounted(organizationSlug, gateway.endpoint);
		if (mounted) return mounted;
	} catch (thrown) {
		throw new Refused(refusedStep('gateway', thrown));
	}
	throw new Refused({ step: 'gateway', outcome: 'refused', code: 'not_found', message: 'The gateway is inactive: clients get a 404.' });
}

async function authenticated(asked: ExplainRequest, mounted: MountedGateway, { steps }: Path, parts: ExplainParts): Promise<Caller> {
	const methods: NonNullable<Step['methods']> = [];
	try {
		const { caller } = await admitting(asked, mounted, methods, { ...parts, ...asked });
		steps.push({ step: 'authentication', outcome: 'passed', message: `The method ${caller.method} admits the caller.`, methods });
		return caller;
	} catch (thrown) {
		const step = refusedStep('authentication', thrown);
		// Too many bad credentials were tried here, not at the gateway.
		if (step.code === 'rate_limited') throw thrown;
		throw new Refused({ ...step, methods });
	}
}

/** `scopeMissing` is the error that a call gets. */
function assertScope(caller: Caller): void {
	if (caller.scopes.includes('tools:execute')) return;
	throw new Refused(refusedStep('scope', scopeMissing('tools:execute', { caller })));
}

async function findTool({ tool, gateway }: ExplainRequest, { shelf }: MountedGateway, { store }: ExplainParts): Promise<ToolEntry> {
	const ref = tool as ToolRef;
	const entry = shelf.find(ref);
	if (entry) return entry;
	const row = 'id' in ref ? await store.tools.get(gateway.organizationId, ref.id) : null;
	const why = row ? REASONS[row.status === 'active' ? 'unassigned' : row.status] : 'no tool of this name is assigned to the gateway';
	throw new Refused({ step: 'tool', outcome: 'refused', code: 'tool_not_found', message: `The gateway does not have the tool: ${why}.` });
}

const REASONS: Readonly<Record<string, string>> = {
	unassigned: 'it is not assigned to it',
	inactive: 'it is inactive',
	removed: 'the description of its API no longer has it',
};

function assertRoom(step: StepName, full: Standing | null, message: string): void {
	if (!full) return;
	const limited = new GatewayError('rate_limited', message);
	throw new Refused({ ...refusedStep(step, limited), limit: shown(full) });
}

const windowStep = (step: StepName, standing: Standing | null): Step =>
	standing
		? { step, outcome: 'passed', message: 'There is room for another call.', limit: shown(standing) }
		: { step, outcome: 'passed', message: 'There is no limit.' };

const shown = ({ max, remaining, resetAtMs }: Standing) => ({ max, remaining, resetAt: new Date(resetAtMs).toISOString() });

/** Lists the steps that were not reached. */
function unknown(steps: readonly Step[], { tool }: ExplainRequest): Step[] {
	const met = new Set(steps.map(({ step }) => step));
	const wanted = tool ? STEPS : STEPS.slice(0, STEPS.indexOf('scope'));
	return wanted.filter((step) => !met.has(step)).map((step) => ({ step, outcome: 'unknown', message: 'A step before it refused.' }));
}
