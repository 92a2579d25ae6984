// One step of an explanation.

import { asGatewayError, type ErrorCode, type ErrorDetail } from '../contract/errors.ts';

export const STEPS = [
	...['gateway', 'address', 'authentication', 'rate_limit', 'scope', 'tool', 'tool_rate_limit', 'configuration'],
	...['arguments', 'confirmation', 'api_credential', 'breaker'],
] as const;

export type StepName = (typeof STEPS)[number];

export const OUTCOMES = ['passed', 'refused', 'warning', 'unknown'] as const;

export interface Step {
	step: string;
	/** `warning`: the call goes on, and may fail at the API. `unknown`: not looked at, since a step before refused or nothing was given. */
	outcome: (typeof OUTCOMES)[number];
	message: string;
	code?: ErrorCode;
	details?: ErrorDetail[];
	/** Each method that was asked, in the step of authentication. */
	methods?: { method: string; isRequired: boolean; outcome: 'admitted' | 'refused' | 'no_credential' | 'not_asked'; message: string }[];
	/** The standing of a window. */
	limit?: { max: number; remaining: number; resetAt: string };
}

/** The end of an explanation: the step that refuses. */
export class Refused extends Error {
	readonly step: Step;

	constructor(step: Step) {
		super(step.message);
		this.step = step;
	}
}

/** Turns what a function of the call's path throws into its step. @throws what is none of our errors */
export function refusedStep(step: StepName, thrown: unknown): Step {
	const error = asGatewayError(thrown);
	if (!error) throw thrown;
	const { code, message, details } = error;
	return { step, outcome: 'refused', message, code, ...(details.length > 0 && { details }) };
}
