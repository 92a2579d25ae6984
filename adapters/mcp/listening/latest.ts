// Joins what a stream hears from two sources.

/**
 * Yields the last values of both sources, whenever one of them has another, and ends with the first. The second may fail or end earlier: its last
 * value stays. Both must end by the signal that aborts when this does.
 */
export async function* latest<A, B>(first: AsyncIterable<A>, second: AsyncIterable<B>, initial: B): AsyncGenerator<[A, B], void> {
	const [firsts, seconds] = [first[Symbol.asyncIterator](), second[Symbol.asyncIterator]()];
	const advance = (): Promise<{ a: IteratorResult<A, unknown> }> => firsts.next().then((a) => ({ a }));
	const ended = { b: { done: true, value: undefined } } as const;
	const follow = (): Promise<{ b: IteratorResult<B, unknown> }> =>
		seconds
			.next()
			.then((b) => ({ b }))
			.catch(() => ended);
	let isKnown = false;
	let last: [A | undefined, B] = [undefined, initial];
	let [onA, onB] = [advance(), follow()];
	for (;;) {
		const heard = await Promise.race([onA, onB]);
		if ('a' in heard) {
			if (heard.a.done) return;
			isKnown = true;
			last = [heard.a.value, last[1]];
			onA = advance();
		} else if (heard.b.done) {
			onB = new Promise(() => undefined);
		} else {
			last = [last[0], heard.b.value];
			onB = follow();
		}
		// The first source has yielded then.
		if (isKnown) yield last as [A, B];
	}
}
