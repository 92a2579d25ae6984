// Media types of headers. Not @hapi/content: it refuses parameters that nobody reads, and takes `application/json x` for JSON.

/** `application/json` of `Application/JSON; charset=utf-8`; empty when the header is missing. */
export const mediaTypeOf = (contentType: string | undefined): string => contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
