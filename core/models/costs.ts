// Prices of models, and what a call costs by them: the organization's own prices, then the provider's, then a public list. An unknown price
// is null, never 0.

import type { LlmProvider, ModelPrices, Usage } from '../contract/providers.ts';
import { lazy } from '../kit/lazy.ts';
import { resultOf } from '../process/hooks.ts';
import type { LlmProviderRow } from '../store/store.ts';
import { checkPrices } from './check-provider.ts';

/** The list is some megabytes, which few services need. */
const list = lazy(() => import('@pydantic/genai-prices'));

const MILLION = 1_000_000;

/** Converts to dollars, to twelve digits: sums of parts of a millionth end in the noise of binary fractions. */
export const inDollars = (microUsd: number): number => Number((microUsd / MILLION).toPrecision(12));

type Pricing = Pick<LlmProviderRow, 'provider' | 'prices'>;

/** Returns what a call costs in millionths of a US dollar; null when it is unknown. */
export async function costOf(
	row: Pricing,
	provider: LlmProvider,
	{ model, asked, config, usage }: { model: string; asked: string; config: unknown; usage: Usage | null },
): Promise<number | null> {
	if (!usage) return null;
	if (typeof usage.costMicroUsd === 'number') return usage.costMicroUsd;
	const plugin = `provider:${provider.name}`;
	const told = (name: string): ModelPrices | null =>
		checkPrices(
			plugin,
			resultOf({ plugin, hook: 'prices' }, () => provider.prices?.(name, config)),
		);
	const own = ownPrices(row, model) ?? ownPrices(row, asked) ?? told(model) ?? told(asked);
	return own ? byPrices(own, usage) : ((await listed(row.provider, model, usage)) ?? (await listed(row.provider, asked, usage)));
}

/** An own property only, since every object inherits names such as `constructor`. */
const ownPrices = ({ prices }: Pick<Pricing, 'prices'>, model: string): ModelPrices | null =>
	prices && Object.hasOwn(prices, model) ? (prices[model] ?? null) : null;

function byPrices({ input, output, cached = input, written = input, hour = written }: ModelPrices, usage: Usage): number {
	const { inputTokens, outputTokens, cachedTokens, writtenTokens = 0, hourTokens = 0 } = usage;
	const fresh = inputTokens - cachedTokens - writtenTokens;
	const kept = cachedTokens * cached + (writtenTokens - hourTokens) * written + hourTokens * hour;
	return (fresh * input + kept + outputTokens * output) / MILLION;
}

/** Looks a model up in the public list, under the provider's name: the same model has other prices elsewhere. */
async function listed(provider: string, model: string, usage: Usage): Promise<number | null> {
	const { calcPrice } = await list();
	const { inputTokens, outputTokens, cachedTokens, writtenTokens = 0, hourTokens = 0 } = usage;
	try {
		const kept = { cache_read_tokens: cachedTokens, cache_write_tokens: writtenTokens, cache_write_1h_tokens: hourTokens };
		const tokens = { input_tokens: inputTokens, output_tokens: outputTokens, ...kept };
		const found = calcPrice(tokens, model, { providerId: provider });
		return found && Number.isFinite(found.total_price) ? found.total_price * MILLION : null;
	} catch {
		return null;
	}
}
