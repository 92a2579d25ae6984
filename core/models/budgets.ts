// Budgets of a model connection: a call that could exceed one is refused before anything is sent.

import { GatewayError } from '../contract/errors.ts';
import type { LlmProviderRow, LlmProviders } from '../store/store.ts';

/** A call and its repetitions are over by then. */
const RESERVED_MS = 15 * 60_000;
const MILLION = 1_000_000;

/**
 * Sets aside the most that a call may cost. @param most in millionths of a US dollar; null when it is unknown
 * @returns the reservation, if the connection has a budget for the month
 * @throws conflict naming the budget
 */
export async function withinBudget(store: Pick<LlmProviders, 'reserve'>, row: LlmProviderRow, most: number | null): Promise<string | null> {
	const { perCall, perMonth } = row.budget ?? {};
	if (perCall === undefined && perMonth === undefined) return null;
	if (most === null)
		throw exceeded(
			perCall === undefined ? 'perMonth' : 'perCall',
			'The price of the model is unknown, so the budget cannot be kept: enter it in "prices" of the LLM provider.',
		);
	if (perCall !== undefined && most > perCall * MILLION)
		throw exceeded('perCall', `The call may cost up to ${dollars(most)}, more than its budget of ${dollars(perCall * MILLION)}.`);
	if (perMonth === undefined) return null;
	const reservation = await store.reserve(row, most, perMonth * MILLION, RESERVED_MS);
	if (reservation === null)
		throw exceeded(
			'perMonth',
			`The call may cost up to ${dollars(most)}, more than is left of this month’s ${dollars(perMonth * MILLION)}.`,
		);
	return reservation;
}

const dollars = (micro: number): string => `$${(micro / MILLION).toFixed(6).replace(/(\.\d\d\d*?)0+$/, '$1')}`;

const exceeded = (budget: string, message: string): GatewayError =>
	new GatewayError('conflict', message, { details: [{ path: `/budget/${budget}`, message }] });
