// Tests of the organization's skills: on the card, handed over by tasks, and with what their arguments say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent, type Any, message, TOOLS } from '../../test/helpers/a2a-agent.ts';

const REFUNDS = {
	name: 'refunds',
	description: 'How we refund.',
	body: 'Refund {{ amount }} to {{customer}}. {{amount}}!',
	arguments: [
		{ name: 'customer', description: 'Who gets it.', required: true, values: ['Ann'] },
		{ name: 'amount', description: '', required: false, values: [] },
	],
	files: { 'references/law.md': '# The law', 'assets/stamp.bin': Buffer.from([0, 1, 2]), 'references/long.md': 'x'.repeat(70_000) },
};
const ECHO = { name: 'echo', description: 'An echo of another kind.', body: 'Say it twice.' };
const CARD = '/.well-known/agent-card.json';

async function withAgent(options: object, work: (agent: Agent) => Promise<void>, config: object = {}): Promise<void> {
	const agent = new Agent({ skills: [REFUNDS, ECHO], admission: [{ method: 'api_key', required: false }], ...options }, config);
	try {
		await work(agent);
	} finally {
		await agent.close();
	}
}
const partsOf = (task: Any): Any[] => {
	assert.equal(task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(task.status));
	return task.artifacts[0].parts;
};

test('they are on the public and on the extended card, beside the tools, with schemas and names of their own', () =>
	withAgent({}, async (agent) => {
		const { body } = await agent.rest('GET', CARD, { headers: { 'a2a-version': '1.0' } });
		assert.deepEqual(
			body.skills.map(({ id }: Any) => id),
			[...TOOLS.map(({ name }) => name), 'refunds', 'skill:echo'],
		);
		const refunds = body.skills.at(-2);
		assert.deepEqual([refunds.name, refunds.description, refunds.outputModes], ['refunds', 'How we refund.', ['text/markdown']]);
		const { inputSchemas } = body.capabilities.extensions[0].params;
		assert.deepEqual(inputSchemas.refunds, {
			type: 'object',
			properties: { customer: { type: 'string', description: 'Who gets it.', examples: ['Ann'] }, amount: { type: 'string' } },
			required: ['customer'],
		});
		assert.deepEqual((await agent.result('GetExtendedAgentCard')).skills, body.skills);
		const legacy = await agent.rpc('agent/getAuthenticatedExtendedCard', {}, {});
		assert.deepEqual([legacy.result.skills.length, legacy.result.protocolVersion], [body.skills.length, '0.3.0']);
	}));

test('a discreet agent shows them to callers only; who may not read, sees and gets none', async () => {
	await withAgent(
		{},
		async (agent) => {
			assert.deepEqual((await agent.rest('GET', CARD)).body.skills, []);
			assert.equal((await agent.result('GetExtendedAgentCard')).skills.at(-2).id, 'refunds');
		},
		{ discovery: 'minimal' },
	);
	await withAgent({ caller: { scopes: ['tools:execute'] } }, async (agent) => {
		const { status } = await agent.send({ skill: 'refunds', arguments: { customer: 'Ann' } });
		assert.equal(status.state, 'TASK_STATE_REJECTED');
	});
});

test('a message gets one handed over: with what the arguments say, small files whole, and the names of the others', () =>
	withAgent({}, async (agent) => {
		const given = { customer: '{{amount}}', amount: '$5' };
		const [document, law, stamp, rest] = partsOf(await agent.send({ skill: 'refunds', arguments: given }));
		assert.deepEqual(document, { text: 'Refund $5 to {{amount}}. $5!', mediaType: 'text/markdown', filename: 'SKILL.md' });
		assert.deepEqual([law.text, law.filename, stamp.raw, stamp.filename], ['# The law', 'references/law.md', 'AAEC', 'assets/stamp.bin']);
		assert.match(rest.text, /\{"skill":"refunds\/references\/long.md"\} \(70000 bytes\)/);
		const [long, ...others] = partsOf(await agent.send({ skill: 'refunds/references/long.md' }));
		assert.deepEqual([long.text.length, long.filename, others], [70_000, 'references/long.md', []]);
		for (const skill of ['refunds/none', 'refunds/../SKILL.md', 'refunds/', 'none/SKILL.md', 'skill:none'])
			assert.equal((await agent.send({ skill })).status.state, 'TASK_STATE_REJECTED', skill);
	}));

test('a tool keeps its name; the prefix names the skill', () =>
	withAgent({}, async (agent) => {
		assert.deepEqual(partsOf(await agent.send({ skill: 'echo', arguments: { text: 'a' } }))[0].data, { text: 'a' });
		assert.equal(partsOf(await agent.send({ skill: 'skill:echo' }))[0].text, 'Say it twice.');
		const { task } = await agent.result('SendMessage', { message: message([{ text: 'skill:refunds {"customer": "Ann"}' }]) });
		assert.equal(partsOf(task)[0].text, 'Refund  to Ann. !');
	}));

test('an argument may have a name that every object has', () => {
	const argument = { name: 'constructor', description: '', required: true, values: [] };
	const skill = { ...ECHO, name: 'made', body: 'By {{constructor}}.', arguments: [argument] };
	return withAgent({ skills: [skill] }, async (agent) => {
		const { status } = await agent.send({ skill: 'made' });
		assert.deepEqual(status.message.parts[1].data, { skill: 'made', errors: [{ path: '/constructor', message: 'is required' }] });
		assert.equal(partsOf(await agent.send({ skill: 'made', arguments: { constructor: 'her' } }))[0].text, 'By her.');
	});
});

test('what is missing is asked for, and a text is enough; what is wrong is named', () =>
	withAgent({}, async (agent) => {
		const { task } = await agent.result('SendMessage', { message: message([{ text: 'refunds' }]) });
		assert.equal(task.status.state, 'TASK_STATE_INPUT_REQUIRED');
		assert.deepEqual(task.status.message.parts[1].data, { skill: 'refunds', errors: [{ path: '/customer', message: 'is required' }] });
		assert.equal(partsOf(await agent.sendPart({ text: 'Ann' }, { taskId: task.id }))[0].text, 'Refund  to Ann. !');
		for (const [args, path] of [
			[{ customer: 7 }, '/customer'],
			[{ customer: 'Ann', other: 'x' }, '/other'],
		] as const) {
			const { status } = await agent.send({ skill: 'refunds', arguments: args });
			assert.deepEqual([status.state, status.message.parts[1].data.errors[0].path], ['TASK_STATE_INPUT_REQUIRED', path]);
		}
		const { status } = await agent.send({ skill: 'refunds', arguments: { customer: 'Ann', amount: 'x'.repeat(500_100) } });
		assert.match(status.message.parts[0].text, /more than 1000000 characters/);
	}));

test('a message without a skill is told of them, too', () =>
	withAgent({ tools: [] }, async (agent) => {
		const { status } = await agent.send({ hello: 1 });
		const { skills } = status.message.parts[1].data;
		assert.deepEqual(
			skills.map(({ id }: Any) => id),
			['refunds', 'echo'],
		);
		assert.deepEqual(skills[0].inputSchema.required, ['customer']);
	}));
