// Rules for the header of a mail: a single bare address, and text on one line.

import Joi from 'joi';

const MAX_LENGTH = 254;
/** No whitespace, no control or format character, and no character that RFC 5322 §3.4 reads as a name, a list, a group or a comment. */
const BARE = /^[^\s\p{C}<>()[\],;:"\\@]+@[^\s\p{C}<>()[\],;:"\\@]+$/u;
/** Control characters, line and paragraph separators, and characters that change the direction of text. */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu;

/** Whether a text is one bare address. nodemailer sends `a@x\r\nBcc: evil@y` and `a@x, evil@y` to both, so neither may reach it. */
export const isBareAddress = (text: string): boolean => text.length <= MAX_LENGTH && BARE.test(text);

/** Puts a name that a user chose on one line, so that it cannot look like text of ours in a mail. */
export const oneLine = (text: string): string => text.replace(BREAKS, ' ').trim();

/** Whether two addresses are one, in whatever form of Unicode. A–Z alone are folded: other letters that differ in case may be two addresses. */
export const isSameAddress = (one: string, other: string): boolean => folded(one) === folded(other);

const folded = (address: string): string => address.normalize('NFC').replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** The rule for the address of an account. */
export const emailAddress = Joi.string().email({ tlds: false }).max(254);
