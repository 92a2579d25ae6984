// Begins a turn of a conversation: a run, or a run that goes on with the results of the client's tools; or finds the one that an earlier request
// began which the client repeats.

import { createHash, randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { type AgentRow, actorOf, type Core, type Execution, type Heard, invalid, organizationOf } from '../../../../core/features.ts';
import { assertContents, conversationOf, inputOf, type Results, resultsIn, saidAfter, wishesOf } from './conversation.ts';
import type { ChatBody } from './fields.ts';
import { fetchImages } from './images.ts';

/** A turn that is under way. */
export interface Begun {
	place: { organizationId: string; id: string };
	revision: number;
	heard: Heard & Disposable;
	/** The keys of the calls whose results it brought. */
	answered: string[];
}

/** A run, and the reference by which it is heard. */
type Found = NonNullable<Awaited<ReturnType<Core['agents']['chats']['find']>>>;

/** The time for which a request is known, so that its repetition starts nothing. */
const REPEATED_MS = 60_000;
/** The client's count of repetitions; other clients than OpenAI's own send none. */
const COUNT = 'x-stainless-retry-count';
/** Ends after which another attempt may help. */
const PASSING: readonly string[] = ['rate_limited', 'unavailable', 'cancelled', 'interrupted'];

/** @throws validation_failed, conflict, rate_limited */
export async function begin(request: Request, core: Core, agent: AgentRow, signal: AbortSignal): Promise<Begun> {
	// The body has passed CHAT.
	const asked = request.payload as ChatBody;
	assertContents(asked.messages);
	const results = resultsIn(asked.messages);
	if (results && (await goesOn(request, core, agent, results))) return goOn({ request, core, agent, signal }, results);
	const former = await repeated(request, core, agent);
	if (former) return former;
	// The name of the request is that of its own body.
	const name = nameOf(request);
	const last = asked.messages.findLastIndex(({ role }) => role === 'user');
	await fetchImages(request, core, last, signal);
	const begun = await start(request, core, agent, asked);
	await remember(request, core, begun, name);
	return begun;
}

async function start(request: Request, core: Core, agent: AgentRow, asked: ChatBody): Promise<Begun> {
	const { tools: brought, ...wishes } = conversationOf(asked);
	const input = inputOf(asked, wishes, core.agents.inputSchema(agent.pipeline));
	const tools = brought && (await usable(core, agent, brought));
	const ref = randomUUID();
	const heard = core.agents.chats.listen(ref);
	try {
		const goesOn = agent.settings.onDisconnect === 'continue' || tools !== undefined;
		const { run, revision } = await core.agents.start({
			...{ organizationId: organizationOf(request).id, agent, input, trigger: 'manual', startedBy: actorOf(request).email },
			...{ here: true, onLoss: goesOn ? 'resume' : 'fail' },
			chat: { ref, conversation: { ...wishes, ...(tools && { tools }) } },
		});
		return { place: { organizationId: run.organizationId, id: run.id }, revision, heard, answered: [] };
	} catch (thrown) {
		heard[Symbol.dispose]();
		throw thrown;
	}
}

/** The tools of the client that a node offers. @throws validation_failed for a name that one of the agent's tools has */
async function usable<T extends readonly { name: string }[]>(core: Core, agent: AgentRow, brought: T): Promise<T | undefined> {
	const names = brought.map(({ name }) => name);
	const taken = await core.agents.chats.clashes(agent, names);
	const [clash] = taken ?? [];
	if (clash !== undefined) {
		const message = `The agent has a tool "${clash}" of its own: give yours another name.`;
		throw invalid(`/tools/${names.indexOf(clash)}/function/name`, message);
	}
	return taken === null ? undefined : brought;
}

/** Returns the run that made the calls; null when this agent did not. */
async function callerOf(core: Core, agent: AgentRow, { byId }: Results): Promise<Found | null> {
	const id = core.agents.chats.executionOf([...byId.keys()]);
	return id === null ? null : core.agents.chats.find(agent, id);
}

/** Tells whether a run goes on with results. Those before a message of the user may be a part of the past, of another agent even. */
async function goesOn(request: Request, core: Core, agent: AgentRow, results: Results): Promise<boolean> {
	if (results.isLast) return true;
	const began = await callerOf(core, agent, results);
	if (!began) return false;
	const { id, organizationId } = began.execution.run;
	if (await core.agents.chats.awaits({ organizationId, id }, [...results.byId.keys()])) return true;
	const former = countOf(request) ? await remembered(request, core, agent) : null;
	return former !== null && [former.execution.run.id, former.execution.run.originId].includes(id);
}

interface Asking {
	request: Request;
	core: Core;
	agent: AgentRow;
	signal: AbortSignal;
}

/** @throws validation_failed for results of calls that this agent did not make, or of only some of a turn */
async function goOn({ request, core, agent, signal }: Asking, results: Results): Promise<Begun> {
	// The body has passed CHAT.
	const asked = request.payload as ChatBody;
	const { chats } = core.agents;
	const began = await callerOf(core, agent, results);
	if (!began) throw invalid(`/messages/${results.at}/tool_call_id`, 'The agent has called no tool under this id.');
	const found = await goingOn(request, core, agent, began);
	const name = nameOf(request);
	await fetchImages(request, core, results.at, signal);
	const said = saidAfter(asked.messages, results);
	const { tools: brought, ...wishes } = wishesOf(asked);
	const tools = brought && (await usable(core, agent, brought));
	const place = { organizationId: agent.organizationId, id: found.execution.run.id };
	const heard = chats.listen(found.ref);
	try {
		heard.acts();
		const answered = await chats.bring(place, results.byId, said, { ...wishes, ...(tools && { tools }) });
		if (!results.isLast) await remember(request, core, { place }, name);
		return { place, revision: found.execution.revision, heard, answered };
	} catch (thrown) {
		heard[Symbol.dispose]();
		throw thrown;
	}
}

// ── repetitions ────────────────────────────────────────────────────────────────────────────────────────────────────

/** The name of the request: the agent, the credential and the body. */
function nameOf(request: Request): string {
	const { authorization = '' } = request.raw.req.headers;
	const content = JSON.stringify([request.params['id'], authorization, request.payload]);
	return `chat:${createHash('sha256').update(content).digest('base64url')}`;
}

const countOf = (request: Request): number | null => {
	const value = request.raw.req.headers[COUNT];
	return typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : null;
};

/**
 * Returns the run that results are for. Where a former request with the same results left, and so ended the run, the repetition has it go on from
 * its checkpoint, as another one. Results are kept once, so any other repetition hears what followed them.
 */
async function goingOn(request: Request, core: Core, agent: AgentRow, began: Found): Promise<Found> {
	if (!countOf(request) || !isPassing(began.execution)) return began;
	const former = await remembered(request, core, agent);
	if (former && !isPassing(former.execution)) return former;
	const { organizationId } = agent;
	const { run } = await core.agents.retry({ organizationId, id: began.execution.run.id }, actorOf(request).email);
	await remember(request, core, { place: { organizationId, id: run.id } });
	return (await core.agents.chats.find(agent, run.id)) ?? began;
}

async function remember(request: Request, core: Core, { place }: Pick<Begun, 'place'>, name = nameOf(request)): Promise<void> {
	if (countOf(request) === null) return;
	const records = core.recordsOf({ organizationId: place.organizationId });
	await records.put(name, { executionId: place.id }, { ttlMs: REPEATED_MS });
}

/** Finds the turn that an earlier request began; null when there is none, or it ended in a way that another attempt may mend. */
async function repeated(request: Request, core: Core, agent: AgentRow): Promise<Begun | null> {
	const found = countOf(request) ? await remembered(request, core, agent) : null;
	if (!found || isPassing(found.execution)) return null;
	const { run, revision } = found.execution;
	const place = { organizationId: agent.organizationId, id: run.id };
	return { place, revision, heard: core.agents.chats.listen(found.ref), answered: [] };
}

/** Finds the run that the same request began or went on with. */
async function remembered(request: Request, core: Core, agent: AgentRow): Promise<Found | null> {
	const record = await core.recordsOf({ organizationId: agent.organizationId }).get(nameOf(request));
	const id = record?.value['executionId'];
	return typeof id === 'string' ? core.agents.chats.find(agent, id) : null;
}

const isPassing = ({ run: { status, error } }: Execution): boolean =>
	status === 'cancelled' || (error !== null && PASSING.includes(error.code));
