// Lends plugins the sandbox of an executor, for code that clients send.

import type { Call } from '../contract/context.ts';
import { GatewayError } from '../contract/errors.ts';
import type { ToolExecutor } from '../contract/kinds.ts';
import type { ToolResult } from '../contract/nouns.ts';
import type { Sandbox, SandboxTask } from '../contract/sandbox.ts';
import { answerOf } from '../process/hooks.ts';
import type { Registry } from '../registry/registry.ts';
import { checkResult } from './check-result.ts';

export interface Lender {
	/** `executor:name`. */
	plugin: string;
	sandbox: Sandbox;
}

/** Finds the executor that lends a sandbox for a language; null when none does. */
export function findLender(registry: Registry, language: string): Lender | null {
	const [found] = registry
		.list('executor')
		.flatMap(({ name, sandbox }: ToolExecutor) => (sandbox?.language === language ? [{ name, sandbox }] : []));
	return found ? { plugin: `executor:${found.name}`, sandbox: found.sandbox } : null;
}

/** The time that a run may wait for its turn, and take to end, beside its own. */
const WAIT_MS = 60_000;

interface Lending {
	lender: Lender | null;
	/** The call as the executor gets it. */
	callOf(plugin: string): Call;
	organizationId: string;
}

/** @throws not_implemented when no executor lends one, and what `Sandbox.run` throws */
export async function runInSandbox(task: SandboxTask, { lender, callOf, organizationId }: Lending): Promise<ToolResult> {
	if (!lender) throw new GatewayError('not_implemented', `No plugin of this service lends a sandbox for ${task.language}.`);
	const { plugin, sandbox } = lender;
	const hook = { plugin, hook: 'sandbox.run' };
	const result = checkResult(
		plugin,
		await answerOf(hook, () => sandbox.run(task, callOf(plugin), organizationId), task.timeoutMs + WAIT_MS),
		hook.hook,
	);
	return result ?? { content: [{ type: 'text', text: 'The result of the code is larger than 16 MiB. Return less.' }], isError: true };
}
