// The contract of executors, for `agent`: the agent calls a real server behind the guard.

import { type AgentRuns, GatewayError } from '../../../core/index.ts';
import { httpBehaviour } from '../../../testing/behaviours.ts';
import { executorContract } from '../../../testing/executor.ts';
import { loopbackCall } from '../../../testing/fake-call.ts';
import agent from './index.ts';

const AGENT = '00000000-0000-4000-8000-0000000000cc';
const TYPE = 'application/json';

executorContract(agent, {
	start: (t, behaviour) =>
		httpBehaviour(t, behaviour, {
			echo: (body) => ({ type: TYPE, body: JSON.stringify({ said: JSON.parse(body).text ?? null }) }),
			fail: { status: 500, type: TYPE, body: '{}' },
			tell: (request) => ({ type: TYPE, body: JSON.stringify({ said: request }) }),
			endless: { type: TYPE, begin: '{"said":[1', piece: ',1' },
		}),
	config: (_origin, more) => ({ agentId: AGENT, ...more }),
	agents: (t, origin): AgentRuns => {
		const call = loopbackCall(t);
		return {
			async run(_agentId, input, { signal } = {}) {
				const request = { method: 'POST', url: origin, body: JSON.stringify(input), ...(signal && { signal }) };
				const { status, body } = await call.request(request);
				if (status !== 200) throw new GatewayError('upstream_failed', 'The agent failed.');
				return JSON.parse(body.toString());
			},
		};
	},
	echoed: ({ structured }) => (structured as { said: string }).said,
	bad: [
		{ config: {}, says: /"agentId" is required/ },
		{ config: { agentId: 'x' }, says: /"agentId" must be a valid GUID/ },
		{ config: { agentId: AGENT, timeoutMs: 3_600_001 }, says: /"timeoutMs" must be less than or equal to 3600000/ },
	],
	timeoutField: 'timeoutMs',
	hasAddress: false,
	signed: null,
});
