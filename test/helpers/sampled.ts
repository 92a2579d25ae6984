// Large corpora and many rounds: `npm test` uses a fixed sample of the one and a few of the other, `npm run sweep` all.

/** Names the variable with which `npm run sweep` makes the tests use all cases. */
export const WHOLE = 'GATEHOUSE_TEST_WHOLE';

/** Returns every `nth` case from the first on, or from another one, the same ones each time; all of them in a sweep. */
export const sampled = <T>(cases: T[], nth: number, from = 0): T[] => cases.filter((_case, at) => isSampled(at, nth, from));

/** Tells whether a sample of every `nth` case has this one. */
export const isSampled = (at: number, nth: number, from = 0): boolean => Boolean(process.env[WHOLE]) || at % nth === from;

/** Returns the number of rounds: few in `npm test`, all in a sweep. */
export const rounds = ({ few, all }: { few: number; all: number }): number => (process.env[WHOLE] ? all : few);
