// A step that looks at one value and takes the way of the first rule that fits it, or `otherwise`.

import type { Json, PipelineNode } from 'gatehouse';
import Joi from 'joi';

interface Rule {
	way: string;
	is?: string;
	least?: number;
	most?: number;
}

export interface Config {
	value: string;
	rules: Rule[];
}

const OTHERWISE = 'otherwise';

export default {
	kind: 'node',
	api: 1,
	name: 'acme_node',
	summary: 'Chooses the way by the first rule that fits a value.',
	config: Joi.object<Config>({
		value: Joi.string().required().meta({ template: true }).description('The value to look at.'),
		rules: Joi.array()
			.items(
				Joi.object({
					way: Joi.string()
						.pattern(/^[a-z][a-z0-9_]{0,31}$/)
						.invalid(OTHERWISE)
						.required()
						.description('The way out that is taken.'),
					is: Joi.string().description('The text that the value must be.'),
					least: Joi.number().description('The least that the value may be.'),
					most: Joi.number().description('The most that the value may be.'),
				}).or('is', 'least', 'most'),
			)
			.min(1)
			.max(50)
			.required()
			.description('The rules, in the order in which they are tried.'),
	}),
	effect: 'none',
	ports: ({ rules }) => [...new Set(rules.map(({ way }) => way)), OTHERWISE],
	check({ rules }, { nodeId, edges }) {
		const taken = edges.filter(({ source }) => source === nodeId).map(({ sourceHandle }) => sourceHandle);
		return rules.flatMap(({ way, least = -Infinity, most = Infinity }, at) => [
			...(least > most ? [{ path: `/rules/${at}/least`, message: 'No value is as large as this and as small as "most".' }] : []),
			...(taken.includes(way) ? [] : [{ path: `/rules/${at}/way`, message: `No edge leaves by "${way}".` }]),
		]);
	},
	async run(_input, { value, rules }, call) {
		const given = call.fill(value);
		return { output: given, port: rules.find((rule) => fits(given, rule))?.way ?? OTHERWISE };
	},
} satisfies PipelineNode<Config>;

function fits(value: Json, { is, least = -Infinity, most = Infinity }: Rule): boolean {
	if (is !== undefined && value !== is) return false;
	const isBounded = least !== -Infinity || most !== Infinity;
	return !isBounded || (typeof value === 'number' && value >= least && value <= most);
}
