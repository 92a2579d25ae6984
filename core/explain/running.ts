// The steps of a tool: its limit, its configuration, the arguments, the credentials of its API, and whether the API is being called at all.

import type { ArgumentChecks } from '../arguments/checks.ts';
import { asGatewayError } from '../contract/errors.ts';
import type { Json } from '../contract/nouns.ts';
import type { Services } from '../tools/call-parts.ts';
import { isConfirmed } from '../tools/confirming.ts';
import type { ToolEntry } from '../tools/entry.ts';
import { isObtained } from '../upstreams/credentials.ts';
import { Refused, refusedStep, type Step } from './steps.ts';

interface RunningParts {
	services: Pick<Services, 'signer' | 'breakers'>;
	argumentChecks: Pick<ArgumentChecks, 'complete'>;
	signal: AbortSignal;
}

/** @param args null when none were given. @throws Refused */
export async function runningSteps(entry: ToolEntry, args: Json | null, parts: RunningParts): Promise<Step[]> {
	return [
		configuration(entry),
		await argumentsOf(entry, args, parts),
		confirmation(entry),
		await apiCredential(entry, parts),
		breaker(entry, parts),
	];
}

function configuration(entry: ToolEntry): Step {
	try {
		entry.ready();
		return { step: 'configuration', outcome: 'passed', message: 'The tool is ready to run.' };
	} catch (thrown) {
		throw new Refused(refusedStep('configuration', thrown));
	}
}

async function argumentsOf(entry: ToolEntry, args: Json | null, { argumentChecks, signal }: RunningParts): Promise<Step> {
	if (args === null) return { step: 'arguments', outcome: 'unknown', message: 'No arguments were given to check.' };
	try {
		await argumentChecks.complete(entry, args, signal);
		return { step: 'arguments', outcome: 'passed', message: 'The arguments fit the tool.' };
	} catch (thrown) {
		throw new Refused(refusedStep('arguments', thrown));
	}
}

function confirmation({ confirm, tool }: ToolEntry): Step {
	if (!isConfirmed(confirm, tool)) return { step: 'confirmation', outcome: 'passed', message: 'The tool runs without asking.' };
	return {
		step: 'confirmation',
		outcome: 'warning',
		message: 'The user of the client is asked first; a client that cannot ask is refused.',
	};
}

/** No token is requested, so a credential of OAuth is only found. */
async function apiCredential({ api, credentials }: ToolEntry, { services }: RunningParts): Promise<Step> {
	const step = 'api_credential';
	if (!api) return { step, outcome: 'passed', message: 'The tool belongs to no API, and brings its own credentials if it needs any.' };
	const { origin } = new URL(api.baseUrl);
	const here = credentials.filter((row) => row.origin === origin);
	if (here.length === 0) {
		const isElsewhere = credentials.length > 0;
		const why = isElsewhere ? `those of the API are for another origin than ${origin}` : 'none is stored for the API';
		return { step, outcome: 'warning', message: `The request goes out without a credential: ${why}.` };
	}
	const openable = here.filter(({ type }) => !isObtained(type));
	try {
		await services.signer.sign({ method: 'GET', url: api.baseUrl }, api, openable);
	} catch (thrown) {
		throw new Refused(refusedStep(step, thrown));
	}
	return { step, outcome: 'passed', message: `Credentials are stored for ${origin}: ${here.map(({ type }) => type).join(', ')}.` };
}

function breaker({ api }: ToolEntry, { services }: RunningParts): Step {
	const step = 'breaker';
	if (!api) return { step, outcome: 'unknown', message: 'The address of the tool is known when it runs.' };
	try {
		services.breakers.assertClosed(api.organizationId, new URL(api.baseUrl));
		return { step, outcome: 'passed', message: 'The API is called.' };
	} catch (thrown) {
		if (!asGatewayError(thrown)) throw thrown;
		throw new Refused(refusedStep(step, thrown));
	}
}
