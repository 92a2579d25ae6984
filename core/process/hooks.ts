// Calls functions of plugins ("hooks") that work of ours waits for: each has its time, and its faults are told under the name of its plugin.

import { asGatewayError, PluginFault } from '../contract/errors.ts';
import { inTime } from '../kit/race.ts';

/** A function of a plugin, by the names that its faults have. */
export interface Hook {
	/** `kind:name`. */
	plugin: string;
	/** The name in the contract, such as `check`. */
	hook: string;
}

/** The time that a hook has where a request waits for it. */
export const HOOK_MS = 30_000;
/** The time in which a hook ends once its signal has aborted. */
export const LEAVE_MS = 5000;

/** Returns the fault of a hook that did not settle in its time. */
export const lateFault = ({ plugin, hook }: Hook, afterMs: number): PluginFault =>
	new PluginFault(plugin, `${hook} gave no answer within ${afterMs / 1000} s.`, { code: 'upstream_timeout' });

/** Settles like the hook, or fails after its time; a later result is ignored. @throws PluginFault, and the errors of the closed table */
export const answerOf = <T>(hook: Hook, ask: () => T | Promise<T>, afterMs = HOOK_MS): Promise<T> =>
	inTime(
		(async () => ask())(),
		afterMs,
		() => lateFault(hook, afterMs),
		(thrown) => blamed(hook, thrown),
	);

/** Checks the answer of a hook that refuses by throwing: one that answers, such as with false, may mean a refusal. @throws PluginFault */
export function assertNothing({ plugin, hook }: Hook, answer: unknown): void {
	if (answer !== undefined) throw new PluginFault(plugin, `${hook} must return nothing: it refuses by throwing.`);
}

/** Returns what a hook returns that does not wait. @throws PluginFault, and the errors of the closed table */
export function resultOf<T>(hook: Hook, ask: () => T): T {
	try {
		return ask();
	} catch (thrown) {
		throw blamed(hook, thrown);
	}
}

/** Returns the error of a hook; one that nobody foresaw as a fault of its plugin. */
const blamed = ({ plugin, hook }: Hook, thrown: unknown): Error =>
	asGatewayError(thrown) || thrown instanceof PluginFault
		? (thrown as Error)
		: new PluginFault(plugin, `${hook} failed unexpectedly.`, { cause: thrown });

/**
 * Settles like a hook that has to end when the signal aborts, or fails some time after that: one that goes on would hold whoever waits for ever.
 * @throws PluginFault, the errors of the closed table, and whatever the hook throws once the signal has aborted
 */
export async function answerUnder<T>(hook: Hook, signal: AbortSignal, ask: () => T | Promise<T>): Promise<T> {
	const left = Promise.withResolvers<never>();
	let timer: NodeJS.Timeout | undefined;
	const leave = (): void => {
		const sentence = `${hook.hook} did not end within ${LEAVE_MS / 1000} s after its signal aborted.`;
		timer = setTimeout(() => left.reject(new PluginFault(hook.plugin, sentence, { code: 'upstream_timeout' })), LEAVE_MS);
	};
	if (signal.aborted) leave();
	else signal.addEventListener('abort', leave, { once: true });
	try {
		return await Promise.race([(async () => ask())(), left.promise]);
	} catch (thrown) {
		throw signal.aborted ? thrown : blamed(hook, thrown);
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', leave);
	}
}
