// Measures requests that must take the same time whether an account exists or not: alternating pairs, the medians, and a rank test of
// whether one kind is slower than the other (Mann and Whitney). `node test/bench/equal-times.ts`. Tests beside the code check that the same
// work is done.

import { randomBytes } from 'node:crypto';
import { must, publishGateway, registerAccount, send, startTestService } from '../helpers/service.ts';
import { median } from './rounds.ts';

/** The larger median may exceed the smaller by this part. */
const MOST_APART = 0.1;
/** Below this probability the difference is not chance. */
const LEAST_P = 0.001;

interface Pair {
	what: string;
	samples: number;
	known(at: number): Promise<unknown>;
	unknown(at: number): Promise<unknown>;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
	const started = performance.now();
	await work();
	return performance.now() - started;
}

/**
 * Compares the ranks of two samples. @returns the probability that samples of one distribution differ as much, by the normal approximation
 */
function rankTest(one: number[], other: number[]): number {
	let above = 0;
	for (const a of one) for (const b of other) above += a > b ? 1 : a === b ? 0.5 : 0;
	const [n, m] = [one.length, other.length];
	const z = Math.abs(above - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
	return 2 * (1 - normal(z));
}

/** The normal distribution by Abramowitz and Stegun 26.2.17, for z not below zero. */
function normal(z: number): number {
	const k = 1 / (1 + 0.2316419 * z);
	const tail = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429].reduceRight((sum, factor) => (sum + factor) * k, 0);
	return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * tail;
}

/** Measures and prints a pair. @returns whether both take the same time, as far as the samples tell */
async function report({ what, samples, known, unknown }: Pair): Promise<boolean> {
	await known(samples);
	await unknown(samples);
	const [ours, others]: [number[], number[]] = [[], []];
	for (let at = 0; at < samples; at++) {
		// The two kinds alternate, and each is first equally often.
		const kinds = [async () => ours.push(await timed(() => known(at))), async () => others.push(await timed(() => unknown(at)))];
		for (const kind of at % 2 === 0 ? kinds : kinds.toReversed()) await kind();
	}
	const [one, other] = [median(ours), median(others)];
	const apart = Math.abs(one - other) / Math.min(one, other);
	const p = rankTest(ours, others);
	console.log(`| ${[what, samples, one.toFixed(1), other.toFixed(1), `${(apart * 100).toFixed(1)} %`, p.toFixed(3)].join(' | ')} |`);
	return apart < MOST_APART || p > LEAST_P;
}

const service = await startTestService();
const person = await registerAccount(service.url);
const stranger = (): string => `${randomBytes(6).toString('hex')}@example.com`;
const post = (path: string, body: object, status: number): Promise<unknown> =>
	send(service.url + path, 'POST', { body }).then((answer) => must(answer, status));
const gateway = await publishGateway(person, { auth: 'basic_auth' });
const visit = async (email: string, at: number): Promise<unknown> => {
	const authorization = `Basic ${Buffer.from(`${email}:Wrong1Horse${at}`).toString('base64')}`;
	const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
	return must(await send(gateway.url, 'POST', { body, headers: { authorization, accept: 'application/json, text/event-stream' } }), 401);
};
const RESETS = 40;
const registered = await Promise.all(Array.from({ length: RESETS + 1 }, () => registerAccount(service.url)));
const logIn = (email: string, at: number) => post('/auth/login', { email, password: `Wrong1Horse${at}` }, 401);
const pairs: Pair[] = [
	{
		what: 'a login with a wrong password, and of nobody',
		samples: 40,
		known: (at) => logIn(person.email, at),
		unknown: (at) => logIn(stranger(), at),
	},
	{
		what: 'a wrong password at a gateway, and nobody’s',
		samples: 40,
		known: (at) => visit(person.email, at),
		unknown: (at) => visit(stranger(), at),
	},
	{
		what: 'a forgotten password of somebody, and of nobody',
		samples: RESETS,
		// Each request names another account: the sixth for one account would skip the work.
		known: (at) => post('/auth/forgot-password', { email: registered[at]?.email }, 200),
		unknown: () => post('/auth/forgot-password', { email: stranger() }, 200),
	},
];
console.log('| requests | samples of each | median ms, known | unknown | apart | p that it is chance |');
console.log('|---|---|---|---|---|---|');
let isEqual = true;
for (const pair of pairs) isEqual = (await report(pair)) && isEqual;
await service.stop();
if (!isEqual) throw new Error('Who is registered can be told by the time that an answer takes.');
