// What may stand in a mail's header: an address that is one and bare, and text that stays on its line.

import Joi from 'joi';

const MAX_LENGTH = 254;
/** No blank, no control or format character, and nothing that RFC 5322 §3.4 reads as a name, a list, a group or a comment. */
const BARE = /^[^\s\p{C}<>()[\],;:"\\@]+@[^\s\p{C}<>()[\],;:"\\@]+$/u;
/** Control characters, line and paragraph separators, and what turns the direction of the text around. */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu;

/** nodemailer sends `a@x\r\nBcc: evil@y` and `a@x, evil@y` to both, so no such text may reach it. */
export const isBareAddress = (text: string): boolean => text.length <= MAX_LENGTH && BARE.test(text);

/** For names that users chose, wherever a mail shows them: one line, so that they cannot look like text of ours. */
export const oneLine = (text: string): string => text.replace(BREAKS, ' ').trim();

/** One address of an account. */
export const emailAddress = Joi.string().email({ tlds: false }).max(254);
