// Media types of headers. @hapi/content is not used: it rejects parameters that are not needed, and accepts `application/json x` as JSON.

/** Returns `application/json` for `Application/JSON; charset=utf-8`; empty when the header is missing. */
export const mediaTypeOf = (contentType: string | undefined): string => contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
