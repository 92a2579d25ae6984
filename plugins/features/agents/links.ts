// Approval by a link in a mail. The link holds a token in its fragment, which reaches no log: signed, for one question and one address, and of
// no use once the question is answered. Whoever has it may answer as that member, with the rights that they have now.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Request, ServerRoute } from '@hapi/hapi';
import Joi from 'joi';
import {
	type Actor,
	body,
	type Core,
	clientOf,
	GatewayError,
	invalid,
	isBareAddress,
	type Json,
	notFound,
	oneLine,
	operation,
	type QuestionRow,
	shape,
	timestamp,
} from '../../../core/features.ts';
import { ANSWER, mayAnswer, settle } from './approvals.ts';
import { BOUNDS } from './bounds.ts';
import { LINK_PAGE, LINK_SCRIPT, PAGE_POLICY } from './link-page.ts';
import { APPROVAL, presentApproval } from './present.ts';

const PREFIX = 'svc_apr_';
const TOKEN = /^svc_apr_([\w-]{1,600})\.([\w-]{43})$/;
/** Those who are told of one question. */
const MAX_MAILS = 20;
const PAGE = { limit: 100 };
const WINDOW = { max: 30, seconds: 300 };

interface Claim {
	organizationId: string;
	question: string;
	email: string;
	/** Milliseconds. */
	until: number;
}

const signature = (payload: string, { encryptionKey }: Core['config']): Buffer =>
	createHmac('sha256', Buffer.from(encryptionKey, 'hex')).update(`approval link\n${payload}`).digest();

export function writeToken({ organizationId, question, email, until }: Claim, core: Core): string {
	const payload = Buffer.from(JSON.stringify([organizationId, question, email, until])).toString('base64url');
	return `${PREFIX}${payload}.${signature(payload, core.config).toString('base64url')}`;
}

/** @throws validation_failed for a token that is not ours, or over */
function readToken(token: string, core: Core): Claim {
	const [, payload = '', given = ''] = TOKEN.exec(token) ?? [];
	if (payload === '' || !timingSafeEqual(Buffer.from(given, 'base64url'), signature(payload, core.config))) throw badToken();
	// It was signed by this service.
	const [organizationId, question, email, until] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
		string,
		string,
		string,
		number,
	];
	if (until <= Date.now()) throw badToken();
	return { organizationId, question, email, until };
}

const badToken = (): GatewayError => invalid('/token', 'The link is not valid any more.');

/** Tells those who may answer, as far as the question names them. */
export async function tellByMail(question: QuestionRow, core: Core): Promise<void> {
	const { organizationId, agentId, id, until } = question;
	if (!question.approvers || question.answeredAt) return;
	const agent = await core.store.agents.get(organizationId, agentId);
	const endMs = Math.min(Date.now() + BOUNDS.linkMs, until?.getTime() ?? Number.POSITIVE_INFINITY);
	for (const email of (await addresses(question, core)).slice(0, MAX_MAILS)) {
		const token = writeToken({ organizationId, question: id, email, until: endMs }, core);
		const subject = `Approval: ${oneLine(agent?.name ?? 'an agent')}`;
		core.mail.send({ to: email, subject, text: letter(question, token, { core, endMs }) }, organizationId);
	}
}

/** Returns the addresses of the members who may answer. */
async function addresses({ organizationId, approvers }: QuestionRow, { store }: Core): Promise<string[]> {
	const found: string[] = [];
	for (let cursor: string | null = ''; cursor !== null && found.length < MAX_MAILS; ) {
		const members = await store.organizations.members(organizationId, { ...PAGE, ...(cursor && { cursor }) });
		for (const { user, role } of members.items)
			if (mayAnswer(approvers, { email: user.email, role }) && isBareAddress(user.email)) found.push(user.email);
		cursor = members.nextCursor;
	}
	return found;
}

function letter({ message }: QuestionRow, token: string, { core, endMs }: { core: Core; endMs: number }): string {
	const { publicUrls } = core.config;
	return [
		'An agent waits for your decision:',
		'',
		message,
		'',
		'Decide here, in a browser:',
		'',
		`${publicUrls[0]}/approvals#token=${token}`,
		'',
		'A program can send the token of that link, with the answer, to',
		'',
		`POST ${publicUrls[0]}/approvals/answer`,
		'',
		`The link is for you, and works until ${new Date(endMs).toISOString()} or somebody has decided.`,
		'',
	].join('\n');
}

const token = Joi.string().min(1).max(1000).required().description('The token of the link.');
const LOOK = body({ token }).example({ token: `${PREFIX}…` });
const DECIDE = body({ token, answer: ANSWER }).example({ token: `${PREFIX}…`, answer: { approved: true } });
const QUESTION = shape({ approval: APPROVAL, agentName: Joi.string(), expiresAt: timestamp });

interface Linked {
	question: QuestionRow;
	claim: Claim;
	actor: Actor;
}

/** Finds the question of a link, for a member who may answer it now. @throws validation_failed, conflict */
async function follow(request: Request, core: Core): Promise<Linked> {
	// The body has passed its schema.
	const claim = readToken((request.payload as { token: string }).token, core);
	const { organizationId, email } = claim;
	const question = await core.store.agents.question(organizationId, claim.question);
	const user = await core.store.accounts.byEmail(email);
	const memberships = user ? await core.store.accounts.memberships(user.id) : [];
	const role = memberships.find(({ organization }) => organization.id === organizationId)?.role ?? null;
	const isAllowed = role !== null && core.permissions.of(role).includes('agents:execute');
	if (!question || !user || !isAllowed || !mayAnswer(question.approvers, { email, role })) throw badToken();
	if (question.answeredAt) throw new GatewayError('conflict', 'Somebody has decided already.');
	return { question, claim, actor: { userId: user.id, email: user.email, accessKeyId: null, ...clientOf(request, core) } };
}

export const linkRoutes = (core: Core): ServerRoute[] => [
	...pageRoutes(),
	operation({
		method: 'POST',
		path: '/approvals/look',
		id: 'readApprovalLink',
		summary: 'Shows the question of a link in a mail.',
		need: 'public',
		addressLimit: WINDOW,
		body: LOOK,
		answer: QUESTION,
		errors: ['conflict'],
		handler: async (request) => {
			const { question, claim } = await follow(request, core);
			const agent = await core.store.agents.get(question.organizationId, question.agentId);
			if (!agent) throw notFound('Agent');
			return { approval: presentApproval(question), agentName: agent.name, expiresAt: new Date(claim.until) };
		},
	}),
	operation({
		method: 'POST',
		path: '/approvals/answer',
		id: 'answerApprovalLink',
		summary: 'Answers the question of a link in a mail.',
		description: 'The link is of no use afterwards.',
		need: 'public',
		addressLimit: WINDOW,
		body: DECIDE,
		integers: 'exact',
		answer: shape({ answered: Joi.boolean().valid(true) }),
		errors: ['conflict'],
		handler: async (request) => {
			const { question, actor } = await follow(request, core);
			await settle(core, question, (request.payload as { answer: Json }).answer);
			const { organizationId, runId, key } = question;
			await core.store.as(actor).agents.answered(organizationId, runId, key, actor.email);
			return { answered: true };
		},
	}),
];

const pageRoutes = (): ServerRoute[] => [
	operation({
		method: 'GET',
		path: '/approvals',
		id: 'openApprovalLink',
		summary: 'Shows the page of a link in a mail.',
		need: 'public',
		bare: true,
		produces: 'text/html',
		answer: Joi.string(),
		handler: (request) =>
			request
				.generateResponse(LINK_PAGE)
				.type('text/html')
				.header('content-security-policy', PAGE_POLICY)
				.header('referrer-policy', 'no-referrer'),
	}),
	operation({
		method: 'GET',
		path: '/approvals/page.js',
		id: 'readApprovalScript',
		summary: 'Serves the script of that page.',
		need: 'public',
		bare: true,
		produces: 'text/javascript',
		answer: Joi.string(),
		handler: (request) => request.generateResponse(LINK_SCRIPT).type('text/javascript'),
	}),
];
