// The runs that this process has, for those who wait for their ends here.

export class Ends {
	readonly #waited = new Map<string, Promise<boolean>>();

	/** Notes a run that begins here. @returns how to tell whether its end was recorded; the latest attempt of a run counts */
	begin(id: string): (hasEnded: boolean) => void {
		const { promise, resolve } = Promise.withResolvers<boolean>();
		this.#waited.set(id, promise);
		return (hasEnded) => {
			resolve(hasEnded);
			if (this.#waited.get(id) === promise) this.#waited.delete(id);
		};
	}

	/** Waits for the end of a run. @returns false when this process has none of this id, or ends its part in it otherwise */
	async of(id: string): Promise<boolean> {
		return (await this.#waited.get(id)) ?? false;
	}
}
