// Conditional reads: whether the client has the answer already.

const bare = (tag: string): string => tag.trim().replace(/^W\//, '');

/**
 * Tells whether a client has what an entity tag stands for, by its `If-None-Match`. Tags are compared weakly (RFC 9110 §13.1.2), since proxies that
 * compress answers weaken them.
 */
export const knowsTag = (ifNoneMatch: string | undefined, etag: string): boolean =>
	ifNoneMatch?.split(',').some((tag) => tag.trim() === '*' || bare(tag) === bare(etag)) ?? false;
