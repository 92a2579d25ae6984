// Budgets of a model connection, of a run and of an agent: a call that could exceed one is refused before anything is sent.

import { GatewayError } from '../contract/errors.ts';
import type { LlmProviderRow, LlmProviders } from '../store/store.ts';
import { LONGEST_MS } from './call-time.ts';
import type { ModelBudget } from './spending.ts';

/** A call and its repetitions are over by then. */
const RESERVED_MS = LONGEST_MS + 5 * 60_000;
const MILLION = 1_000_000;

/** Tells whether a call has to be estimated before it is sent. */
export const isBudgeted = ({ budget }: Pick<LlmProviderRow, 'budget'>, budgets: readonly ModelBudget[]): boolean =>
	budget?.perCall !== undefined || budget?.perMonth !== undefined || budgets.length > 0;

/**
 * Sets aside the most that a call may cost. @param most in millionths of a US dollar; null when it is unknown
 * @returns the reservation, if the connection has a budget for the month, or the call counts for others
 * @throws conflict naming the budget
 */
export async function withinBudget(
	store: Pick<LlmProviders, 'reserve'>,
	row: LlmProviderRow,
	budgets: readonly ModelBudget[],
	most: number | null,
): Promise<string | null> {
	const { perCall, perMonth } = row.budget ?? {};
	if (!isBudgeted(row, budgets)) return null;
	if (most === null) {
		const first = perCall !== undefined ? 'perCall' : perMonth !== undefined ? 'perMonth' : (budgets[0]?.name ?? '');
		throw exceeded(first, 'The price of the model is unknown, so the budget cannot be kept: enter it in "prices" of the LLM provider.');
	}
	if (perCall !== undefined && most > perCall * MILLION)
		throw exceeded('perCall', `The call may cost up to ${dollars(most)}, more than its budget of ${dollars(perCall * MILLION)}.`);
	if (perMonth === undefined && budgets.length === 0) return null;
	const holders = budgets.map(({ holder, period, limit }) => ({ holder, period, limit: limit * MILLION }));
	const limits = { perMonth: perMonth === undefined ? null : perMonth * MILLION, holders };
	const reserved = await store.reserve(row, most, limits, RESERVED_MS);
	if (typeof reserved === 'string') return reserved;
	const budget = budgets.find(({ holder }) => holder === reserved?.holder);
	const left = budget
		? `is left of the budget ${budget.name} of ${budget.of}, ${dollars(budget.limit * MILLION)}${budget.period === 'month' ? ' a month' : ''}`
		: `is left of this month’s ${dollars((perMonth ?? 0) * MILLION)}`;
	throw exceeded(budget?.name ?? 'perMonth', `The call may cost up to ${dollars(most)}, more than ${left}.`);
}

const dollars = (micro: number): string => `$${(micro / MILLION).toFixed(6).replace(/(\.\d\d\d*?)0+$/, '$1')}`;

const exceeded = (budget: string, message: string): GatewayError =>
	new GatewayError('conflict', message, { details: [{ path: `/budget/${budget}`, message }] });
