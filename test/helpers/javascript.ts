// Runs the `javascript` executor like core, with the real egress guard on loopback.

import type { TestContext } from 'node:test';
import type { Call } from '../../core/contract/context.ts';
import type { JsonObject, Tool, ToolResult } from '../../core/contract/nouns.ts';
import { createEgress } from '../../core/egress/egress.ts';
import javascript from '../../plugins/executors/javascript/index.ts';
import { silent } from './silent.ts';

export interface CodeCallOptions {
	organizationId?: string;
	/** The account; by default each organization has its own. */
	account?: string;
	codeMayFetch?: boolean;
	signal?: AbortSignal;
}

/** Makes the parts of `Call` that running code uses; reading any other member fails. */
export function codeCall(t: TestContext | null, options: CodeCallOptions = {}): Call {
	const egress = createEgress({ allow: ['127.0.0.1'] });
	t?.after(() => egress.close());
	const call: Pick<Call, 'tool' | 'signal' | 'settings' | 'account' | 'request' | 'log'> = {
		tool: { organizationId: options.organizationId ?? 'acme' } as Tool,
		signal: options.signal ?? new AbortController().signal,
		settings: async () => ({ codeMayFetch: options.codeMayFetch ?? false, toolExposure: 'full' }),
		account: async () => options.account ?? options.organizationId ?? 'acme',
		request: (request) => egress.request(request),
		log: silent,
	};
	return call as Call;
}

export interface CodeOptions {
	parameters?: JsonObject;
	call?: Call;
	timeoutMs?: number;
	memoryMb?: number;
}

/** Runs code, by default with the longest time that a tool may have, which a busy neighbour does not use up. */
export function runCode(code: string, { parameters = {}, call = codeCall(null), ...limits }: CodeOptions = {}): Promise<ToolResult> {
	return javascript.execute(parameters, { code, timeoutMs: 30_000, memoryMb: 64, ...limits }, call);
}
