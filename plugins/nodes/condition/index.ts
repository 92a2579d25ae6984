// The `condition` node: goes on by the first case whose rules hold, else by `else`.

import Joi from 'joi';
import type { Json, NodeCall, PipelineNode } from '../../../core/index.ts';
import { Effort, isHeld, OPERATORS, type Rule, UNARY } from './rules.ts';

export interface Case {
	port: string;
	match: 'all' | 'any';
	rules: Rule[];
}

export interface ConditionConfig {
	cases: Case[];
	output?: Json;
}

const ELSE = 'else';

const rule = Joi.object<Rule>({
	value: Joi.any()
		.required()
		.meta({ template: true })
		.description('The value to look at: a placeholder such as {{nodes.<id>.output.score}}'),
	operator: Joi.valid(...OPERATORS)
		.required()
		.description(
			'`equals` and `notEquals` compare any JSON; `greaterThan`, `atLeast`, `lessThan`, `atMost` two numbers or two texts; `contains` and `notContains` ' +
				'look for a text in a text or for an item in a list, `in` and `notIn` for the value in the list `than`; `isEmpty` holds for null, "", [] and {}',
		),
	than: Joi.any()
		.meta({ template: true })
		// biome-ignore lint/suspicious/noThenProperty: Joi's own word for the branch
		.when('operator', { is: Joi.valid(...UNARY), then: Joi.forbidden(), otherwise: Joi.required() })
		.description(
			'The value to compare with, which may be a placeholder. Not for `exists`, `notExists`, `isEmpty`, `isNotEmpty`, `isTrue`, `isFalse`',
		),
	ignoreCase: Joi.boolean().default(false).description('Whether texts are compared without regard to upper and lower case'),
});

const oneCase = Joi.object<Case>({
	port: Joi.string()
		.pattern(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
		.invalid(ELSE)
		.required()
		.description('Name of the way out, as `sourceHandle` of an edge has it'),
	match: Joi.valid('all', 'any').default('all').description('Whether all rules have to hold, or one'),
	rules: Joi.array().items(rule).min(1).max(20).required().description('The rules'),
});

export default {
	kind: 'node',
	api: 1,
	name: 'condition',
	summary: 'Goes on by the first case whose rules hold, and else by “else”.',
	config: Joi.object<ConditionConfig>({
		cases: Joi.array()
			.items(oneCase)
			.min(1)
			.max(20)
			.unique('port')
			.required()
			.description('The cases, in the order in which they are tried. Their names are the ways out, and `else` is the last one'),
		output: Joi.any()
			.meta({ template: true })
			.description('The output, whose texts may hold placeholders. When absent, the name of the way that was taken'),
	}),
	effect: 'none',
	ports: ({ cases }) => [...cases.map(({ port }) => port), ELSE],
	async run(_input, { cases, output }, call) {
		const port = await firstMet(cases, call);
		return { output: output === undefined ? port : call.fill(output), port };
	},
} satisfies PipelineNode<ConditionConfig>;

/** Returns the way out of the first case whose rules hold. */
async function firstMet(cases: readonly Case[], call: NodeCall): Promise<string> {
	const effort = new Effort();
	for (const [at, one] of cases.entries()) if (await isMet(one, `/cases/${at}/rules`, { call, effort })) return one.port;
	return ELSE;
}

async function isMet({ match, rules }: Case, pointer: string, { call, effort }: { call: NodeCall; effort: Effort }): Promise<boolean> {
	const decides = match === 'any';
	for (const [at, { value, than, ...rest }] of rules.entries()) {
		const count = await effort.next(`${pointer}/${at}`);
		const filled = { ...rest, value: call.fill(value), ...(than !== undefined && { than: call.fill(than) }) };
		if ((await isHeld(filled, count)) === decides) return decides;
	}
	return !decides;
}
