// Large corpora: `npm test` uses a fixed sample, `npm run sweep` all cases.

/** Names the variable with which `npm run sweep` makes the tests use all cases. */
const WHOLE = 'GATEHOUSE_TEST_WHOLE';

/** Returns every `nth` case from the first on, the same ones each time; all of them in a sweep. */
export const sampled = <T>(cases: T[], nth: number): T[] => (process.env[WHOLE] ? cases : cases.filter((_case, at) => at % nth === 0));
