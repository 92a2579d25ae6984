// A way for announcements that may be lost, beside the database.

export interface Carrier {
	/** Passes texts to the processes that listen, in their order. @returns false when it could not: they need another way */
	send(texts: readonly string[]): Promise<boolean>;
	listen(listener: (text: string) => void): void;
	close(): Promise<void>;
}
