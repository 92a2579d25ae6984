// Checks the data of results against the output schemas of their tools, where an API promises that they fit.

import { createHash } from 'node:crypto';
import type { ErrorDetail } from '../contract/errors.ts';
import { GatewayError } from '../contract/errors.ts';
import type { Json, JsonSchema, Tool } from '../contract/nouns.ts';
import { SizedCache } from '../kit/sized-cache.ts';
import type { AccountOf } from '../shared/accounts.ts';
import { compileOutput, type OutputCheck } from './compile.ts';
import { effortOf, MAX_EFFORT } from './effort.ts';
import { type Weight, weighQuickly } from './looks.ts';
import type { CheckPool } from './pool.ts';
import { bytesOf, fits, measureSize, SMALL_SIZE } from './size.ts';
import type { CheckEnding } from './thread.ts';

const CACHE_BYTES = 16 * 1024 * 1024;
const POINTER = '/outputSchema';

/** The owner of a schema: the same `id` and `version` have the same schema. */
export type CheckedTool = Pick<Tool, 'id' | 'version' | 'organizationId'>;

type CachedCheck = { check: OutputCheck; weight: Weight } | null;

export class OutputChecks {
	readonly #known = new SizedCache<CachedCheck>(CACHE_BYTES);
	readonly #pool: CheckPool;
	readonly #accountOf: AccountOf;

	constructor(pool: CheckPool, accountOf: AccountOf) {
		this.#pool = pool;
		this.#accountOf = accountOf;
	}

	/** Returns the fields that do not fit; empty if all do. @throws upstream_failed when that cannot be found out, rate_limited */
	async faults(tool: CheckedTool, schema: JsonSchema, data: Json, signal: AbortSignal): Promise<ErrorDetail[]> {
		const small = this.#of(tool, schema);
		if (small && effortOf(data, small.weight) <= MAX_EFFORT) return small.check(data);
		const text = JSON.stringify(data);
		const { organizationId } = tool;
		const account = await this.#accountOf(organizationId);
		const key = `output:${tool.id}:${tool.version}`;
		const ending = await this.#pool.use({ account, organization: organizationId, sizeBytes: text.length, signal }, async (run) => {
			const first = await run({ type: 'output', key, schema: null, data: text });
			return first.type === 'unknown' ? run({ type: 'output', key, schema: { schema }, data: text }) : first;
		});
		if (ending.type === 'checked') return ending.faults;
		throw unchecked(ending);
	}

	/** Does the same by a schema that is no tool's, and is known by what it says. */
	faultsByContent(organizationId: string, schema: JsonSchema, data: Json, signal: AbortSignal): Promise<ErrorDetail[]> {
		const hash = createHash('sha256').update(JSON.stringify(schema)).digest('base64url');
		return this.faults({ id: `schema:${hash}`, version: '', organizationId }, schema, data, signal);
	}

	/** @throws upstream_failed for a schema that cannot be used */
	#of(tool: CheckedTool, schema: JsonSchema): CachedCheck {
		const key = `${tool.id}:${tool.version}`;
		const found = this.#known.get(key);
		if (found !== undefined) return found;
		try {
			const size = measureSize(schema, POINTER);
			const weight = fits(size, SMALL_SIZE) ? weighQuickly(schema) : null;
			const made = weight && { check: compileOutput(schema), weight: { ...weight, members: 0 } };
			this.#known.put(key, made, made ? bytesOf(size) : 100);
			return made;
		} catch (thrown) {
			throw thrown instanceof GatewayError
				? unchecked({ type: 'refused', code: thrown.code, message: thrown.message, details: [] })
				: thrown;
		}
	}
}

function unchecked(ending: CheckEnding): GatewayError {
	const why = ending.type === 'refused' ? ending.message : 'it takes too long.';
	return new GatewayError('upstream_failed', `The result cannot be checked against its output schema: ${why}`);
}
