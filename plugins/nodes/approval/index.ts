// The `approval` node: the run waits until a person has decided.

import Joi from 'joi';
import { type Approvers, faultsIn, GatewayError, isObject, type JsonSchema, type PipelineNode, promptText } from '../../../core/index.ts';

export interface ApprovalConfig {
	message: string;
	schema: JsonSchema;
	timeoutMs?: number;
	approvers?: Approvers;
	onReject: 'fail' | 'branch' | 'continue';
}

/** The field that decides. */
const APPROVED = 'approved';
const FORM = {
	type: 'object',
	properties: {
		[APPROVED]: { type: 'boolean', title: 'Approved', description: 'Whether the run may go on.' },
		comment: { type: 'string', title: 'Comment', maxLength: 2000 },
	},
	required: [APPROVED],
	additionalProperties: false,
};
const YEAR_MS = 31_536_000_000;

const approvers = Joi.object<Approvers>({
	roles: Joi.array()
		.items(Joi.valid('owner', 'admin', 'member', 'viewer'))
		.min(1)
		.unique()
		.description('Members of the organization with one of these roles'),
	emails: Joi.array()
		.items(Joi.string().email({ tlds: false }).lowercase())
		.min(1)
		.max(50)
		.unique()
		.description('Members with one of these addresses'),
}).or('roles', 'emails');

export default {
	kind: 'node',
	api: 1,
	name: 'approval',
	summary: 'Waits until a person has approved, or has filled in a form.',
	config: Joi.object<ApprovalConfig>({
		message: Joi.string()
			.max(4000)
			.required()
			.meta({ template: true })
			.description('What there is to decide, for whoever decides. It may hold {{input.<field>}} and {{nodes.<id>.output}}'),
		schema: Joi.object()
			.unknown()
			.default(FORM)
			.description(
				'JSON Schema of the answer, an object at its root: its form. When it has a member `approved`, an answer where that is false rejects. When absent, ' +
					'`approved` (true or false, required) and `comment`',
			),
		timeoutMs: Joi.number()
			.integer()
			.min(1000)
			.max(YEAR_MS)
			.description('Milliseconds after which the node fails. When absent, it waits without end'),
		approvers: approvers.description('Those who may answer, by role or address. When absent, everybody who may run the agent'),
		onReject: Joi.valid('fail', 'branch', 'continue')
			.default('fail')
			.description(
				'What follows a rejection. `fail`: the node fails; `branch`: the ways out are `approved` and `rejected`; `continue`: nothing, the answer is the output',
			),
	}),
	effect: 'none',
	ports: ({ onReject }) => (onReject === 'branch' ? ['approved', 'rejected'] : undefined),
	check: ({ schema }, _graph, { checkSchema }) => faultsIn(checkSchema(schema, '/schema')),
	async run(_input, { message, schema, timeoutMs, approvers: who, onReject }, call) {
		const answer = await call.suspend({
			...{ message: promptText(call.fill(message)), schema },
			...(timeoutMs !== undefined && { timeoutMs }),
			...(who && { approvers: who }),
		});
		const isRejected = isObject(answer) && answer[APPROVED] === false;
		if (isRejected && onReject === 'fail') throw new GatewayError('forbidden', 'It was rejected.');
		return { output: answer, ...(onReject === 'branch' && { port: isRejected ? 'rejected' : 'approved' }) };
	},
} satisfies PipelineNode<ApprovalConfig>;
