// Lines of the request log, column by column: a line that waits to be written costs some numbers and its id, and no object that is kept.

import type { RequestRow } from './analytics.ts';

/** The members that most lines have in common with others of their batch. */
export type AlikeMembers = Required<
	Pick<RequestRow, 'organizationId' | 'kind' | 'gatewayId' | 'toolId' | 'agentId' | 'providerId' | 'caller' | 'method' | 'outcome'> &
		Pick<RequestRow, 'clientInfo' | 'userAgent' | 'status' | 'model' | 'keyId' | 'userId'>
>;

/** The numbers that each line has of its own. */
export const OWN_NUMBERS = [
	...(['durationMs', 'upstreamMs', 'waitingMs', 'bytesIn', 'bytesOut'] as const),
	...(['inputTokens', 'outputTokens', 'cachedTokens', 'costMicroUsd'] as const),
];
export type OwnNumber = (typeof OWN_NUMBERS)[number];

/** The lines of a batch that have all members but their own in common. */
export interface LineGroup {
	of: AlikeMembers;
	/** The place among the stored groups; -1 while all of its lines are only counted. */
	stored: number;
	lines: number;
}

/** Groups by what failed or was called and by the caller, which tell most of them apart. */
export class LineGroups {
	readonly #byTarget = new Map<string | null, Map<string | null, LineGroup[]>>();
	readonly all: LineGroup[] = [];

	/** Returns the group of a line, which is one more of it. */
	of(row: RequestRow): LineGroup {
		const target = row.toolId ?? row.agentId ?? row.providerId ?? row.gatewayId;
		const known = this.#byTarget.get(target)?.get(row.caller);
		const group = known?.find(({ of }) => areAlike(of, row)) ?? this.#add(row, target);
		group.lines++;
		return group;
	}

	#add(row: RequestRow, target: string | null): LineGroup {
		const group: LineGroup = { of: membersOf(row), stored: -1, lines: 0 };
		const byCaller = this.#byTarget.get(target) ?? new Map<string | null, LineGroup[]>();
		this.#byTarget.set(target, byCaller);
		const known = byCaller.get(row.caller);
		if (known) known.push(group);
		else byCaller.set(row.caller, [group]);
		this.all.push(group);
		return group;
	}
}

/** Compares member by member: the texts of most lines are equal. */
const areAlike = (one: AlikeMembers, other: RequestRow): boolean =>
	one.userAgent === other.userAgent &&
	one.outcome === other.outcome &&
	one.kind === other.kind &&
	one.organizationId === other.organizationId &&
	one.gatewayId === other.gatewayId &&
	one.toolId === other.toolId &&
	one.agentId === other.agentId &&
	one.providerId === other.providerId &&
	one.clientInfo === (other.clientInfo ?? null) &&
	one.status === other.status &&
	one.method === other.method &&
	one.model === other.model &&
	one.keyId === other.keyId &&
	one.userId === other.userId &&
	one.caller === other.caller;

const membersOf = ({ clientInfo = null, ...row }: RequestRow): AlikeMembers => ({
	...{ userAgent: row.userAgent, outcome: row.outcome, kind: row.kind, organizationId: row.organizationId },
	...{ gatewayId: row.gatewayId, toolId: row.toolId, agentId: row.agentId, providerId: row.providerId, clientInfo },
	...{ status: row.status, method: row.method, model: row.model, keyId: row.keyId, userId: row.userId, caller: row.caller },
});

type Texts = Pick<RequestRow, 'arguments' | 'result' | 'logs'>;

export class Lines {
	/** The groups, of which each line names one by its place. */
	readonly groups: AlikeMembers[] = [];
	readonly groupOf: number[] = [];
	readonly startedAt: number[] = [];
	readonly requestId: (string | null)[] = [];
	/** NaN: unknown. */
	readonly numbers: Readonly<Record<OwnNumber, number[]>> = {
		...{ durationMs: [], upstreamMs: [], waitingMs: [], bytesIn: [], bytesOut: [] },
		...{ inputTokens: [], outputTokens: [], cachedTokens: [], costMicroUsd: [] },
	};
	/** The texts of the lines that have some, by the place of the line. */
	readonly texts = new Map<number, Texts>();

	get length(): number {
		return this.groupOf.length;
	}

	add(row: RequestRow, group: LineGroup): void {
		if (group.stored === -1) group.stored = this.groups.push(group.of) - 1;
		const { numbers } = this;
		for (const name of OWN_NUMBERS) numbers[name].push(row[name] ?? Number.NaN);
		this.startedAt.push(row.startedAt);
		this.requestId.push(row.requestId);
		const { arguments: args = null, result = null, logs = null } = row;
		if (args !== null || result !== null || logs !== null) this.texts.set(this.length, { arguments: args, result, logs });
		this.groupOf.push(group.stored);
	}
}
