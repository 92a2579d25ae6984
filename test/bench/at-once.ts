// Does something with each of many items, so many of them at a time.

/** Ends when the last one is done. @throws the first failure */
export async function eachAtOnce<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<unknown>): Promise<void> {
	const left = items.values();
	const workOn = async (): Promise<void> => {
		for (const item of left) await work(item);
	};
	await Promise.all(Array.from({ length: atOnce }, workOn));
}
