// A step that takes one way for a number that is large enough, and another for all else.

import type { PipelineNode } from 'gatehouse';
import Joi from 'joi';

export interface Config {
	value: string;
	least: number;
}

export default {
	kind: 'node',
	api: 1,
	name: 'my_plugin',
	summary: 'Goes on by “enough” with a number that is large enough, and else by “less”.',
	config: Joi.object<Config>({
		value: Joi.string().required().meta({ template: true }).description('The number to look at.'),
		least: Joi.number().default(0).description('The least number that is enough.'),
	}),
	// It changes nothing in the world, so it may run again after the process died.
	effect: 'none',
	ports: ['enough', 'less'],
	check: ({ least }) => (Number.isSafeInteger(least) ? [] : [{ path: '/least', message: 'It must be a whole number.' }]),
	async run(_input, { value, least }, call) {
		const given = call.fill(value);
		const isEnough = typeof given === 'number' && given >= least;
		return { output: given, port: isEnough ? 'enough' : 'less' };
	},
} satisfies PipelineNode<Config>;
