// Runs inside the sandbox when the code first uses the functions that were lent to it. Like the prelude it is passed in as text, and refers
// to nothing outside of itself.

import type { Kernel } from './main.ts';

export function preludeCalls({ host, parse, stringify, define, wait, forget, namespace }: Kernel): void {
	const call =
		(name: string) =>
		(argument: unknown = {}): Promise<unknown> => {
			// It is made before the call, so that its stack has the line of the call.
			const fault = new Error();
			const text = stringify(argument) ?? 'null';
			return new Promise((resolve, reject) => {
				const refuse = (message: string): void => {
					fault.message = message;
					reject(fault);
				};
				const id = wait((answer) => {
					const { json, fault: said } = parse(answer);
					if (said === undefined) resolve(parse(json));
					else refuse(said);
				});
				const refused = host('call', stringify(id), stringify(name), text);
				if (refused === undefined) return;
				forget(id);
				refuse(parse(refused));
			});
		};
	// `then` is left out: an object that has it is taken for a promise.
	const isName = (name: string | symbol): name is string => typeof name === 'string' && name !== 'then';
	define(
		namespace,
		new Proxy(
			{},
			{
				get: (_target, name) => (isName(name) ? call(name) : undefined),
				has: (_target, name) => isName(name),
			},
		),
	);
}
