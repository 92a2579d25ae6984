// The options of an import of GraphQL, and the argument that its tools take beside those of the schema.

import Joi from 'joi';
import type { SelectionLimits } from './selection.ts';

export const SELECT = '_select';

export const config = Joi.object<SelectionLimits>({
	depth: Joi.number().integer().min(0).max(5).default(1).description('Levels of objects below an answer that a tool asks for by itself.'),
	maxLeaves: Joi.number().integer().min(1).max(1_000).default(200).description('Fields with a value that a tool asks for by itself.'),
	pageSize: Joi.number().integer().min(1).max(100).default(10).description('Items that a tool asks of a list that takes `first`.'),
});
