// One fault as an event of the tracker's protocol: https://develop.sentry.dev/sdk/data-model/event-payloads/. It is written out member by
// member, so that nothing gets into it by being near.

import type { ErrorEvent, StackFrame } from '@sentry/core';
import type { Fault } from './faults.ts';
import { type CodeLocation, type Shown, showErrors } from './stacks.ts';

const MAX_NAME_CHARS = 200;

/** @param held the number of faults that were held back before this one */
export function eventOf(fault: Fault, held: number): ErrorEvent {
	const errors = showErrors(fault.thrown);
	const values = errors.map((shown, at) => exceptionOf(shown, at === 0 ? fault.what : 'its cause'));
	const hasPlaces = errors.some(({ places }) => places.length > 0);
	const { code = errors[0]?.code ?? undefined, plugin, gateway } = fault;
	return {
		type: undefined,
		level: 'error',
		platform: 'node',
		// The protocol lists the outermost error last.
		exception: { values: values.reverse() },
		tags: tagsOf({ ...fault, ...(code !== undefined && { code }) }),
		...(held > 0 && { extra: { heldBack: held } }),
		...(!hasPlaces && { fingerprint: [fault.what, errors[0]?.type ?? '', code ?? '', plugin ?? '', gateway ?? ''] }),
	};
}

const exceptionOf = ({ type, code, places }: Shown, value: string) => ({
	type,
	value: code === null ? value : `${value} (${code})`,
	...(places.length > 0 && { stacktrace: { frames: places.map(frameOf).reverse() } }),
});

const frameOf = ({ file, line, column, isOurs }: CodeLocation): StackFrame => ({
	...{ filename: `app:///${file}`, module: file, lineno: line, colno: column, in_app: isOurs },
});

function tagsOf({ code, status, plugin, gateway, organizationId, requestId }: Fault): Record<string, string> {
	const tags = { code, status, plugin, gateway, organization: organizationId, request_id: requestId };
	const given = Object.entries(tags).filter(([, value]) => value !== undefined);
	return Object.fromEntries(given.map(([name, value]) => [name, String(value).slice(0, MAX_NAME_CHARS)]));
}
