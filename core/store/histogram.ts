// Histograms of durations, whose buckets are the same everywhere, so that those of replicas and of times add up to that of the whole.

/** Buckets grow by this factor: the middle of one is off by a fifth at most. */
const GROWTH = Math.SQRT2;
const LOG_GROWTH = Math.log(GROWTH);

/** The number of buckets: up to 1 ms, then by growth to 131 s, and all that is longer. */
export const BUCKETS = 36;

/** Returns the bucket of a duration. */
export function bucketOf(durationMs: number): number {
	if (durationMs <= 1) return 0;
	// The tolerance keeps a bound itself in its bucket, whatever the logarithm's last digit.
	return Math.min(BUCKETS - 1, Math.ceil(Math.log(durationMs) / LOG_GROWTH - 1e-9));
}

/** Returns the duration that is as many times the least of a bucket as its greatest is of it; the last bucket has no greatest, and shows its least. */
const middleOf = (bucket: number): number => (bucket === BUCKETS - 1 ? GROWTH ** (BUCKETS - 2) : GROWTH ** (bucket - 0.5));

/**
 * Returns the duration in milliseconds that this share of the calls did not exceed, as nearly as the buckets tell; null without calls.
 * @param share such as 0.95
 */
export function percentile(histogram: readonly number[], share: number): number | null {
	const all = histogram.reduce((sum, count) => sum + count, 0);
	if (all === 0) return null;
	const wanted = share * all;
	let upTo = 0;
	for (const [bucket, count] of histogram.entries()) {
		upTo += count;
		if (count > 0 && upTo >= wanted) return middleOf(bucket);
	}
	return middleOf(BUCKETS - 1);
}
