// Turns a filter of an API's operations into a condition.

import { Op, type WhereOptions } from 'sequelize';
import type { OperationFilter } from '../../core/store/store.ts';
import type { ApiOperation } from '../models/api.ts';
import { uuid } from '../pages.ts';
import { search } from '../search.ts';

export function operationsWhere(organizationId: string, apiId: string, filter: OperationFilter): WhereOptions<ApiOperation> {
	const { q, tags, methods, paths, operationIds, deprecated, status } = filter;
	return {
		organizationId: uuid(organizationId),
		apiId: uuid(apiId),
		...(tags && { tags: { [Op.overlap]: tags } }),
		...(methods && { method: { [Op.in]: methods } }),
		...(paths && { path: { [Op.in]: paths } }),
		...(operationIds && { operationId: { [Op.in]: operationIds } }),
		...(deprecated !== undefined && { deprecated }),
		...(status !== undefined && { status }),
		...search(q, ['name', 'description', 'path']),
	};
}
