// Time that passes for what plugins have stored, at once: the database's clock decides about it, so all of it is made older there.

import pg from 'pg';
import type { TestService } from './service.ts';

export const SECOND = 1000;
export const HOUR = 3600 * SECOND;
export const DAY = 24 * HOUR;

/** Longer than the usual grace of a refresh token, and than that of a code (decisions, 27). */
export const GRACE_OVER = 61 * SECOND;

/** On a connection of its own. */
async function inDatabase<T>({ config: { database } }: TestService, work: (client: pg.Client) => Promise<T>): Promise<T> {
	if (!database) throw new Error('The service has a database of its own.');
	const { host, port, username, password, name, ssl } = database;
	const client = new pg.Client({ host, port, user: username, password, database: name, ssl });
	await client.connect();
	try {
		return await work(client);
	} finally {
		await client.end();
	}
}

/**
 * Of rows, and of the documents in them: what is called `…AtMs` there is a time of the database. When something was made ends
 * nothing; it is only compared with when its user joined, which replicas remember until they hear of a change. So it stays.
 */
const OLDER = `
UPDATE records SET revision = revision + 1,
	expires_at = expires_at - $1::float8 * interval '1 millisecond',
	taken_at = taken_at - $1::float8 * interval '1 millisecond',
	value = $3::json
WHERE seq = $2 AND revision = $4`;

/** For all records of the service, as if nobody had used it for so long. Nobody may use it meanwhile. */
export const passTime = (service: TestService, ms: number): Promise<void> =>
	inDatabase(service, async (client) => {
		const { rows } = await client.query<{ seq: string; value: string; revision: number }>('SELECT seq, value::text, revision FROM records');
		for (const { seq, value, revision } of rows) {
			const older = value.replace(/("\w*[aA]tMs":\s*)(\d+)/g, (_match, name: string, at: string) => `${name}${Number(at) - ms}`);
			await client.query(OLDER, [ms, seq, older, revision]);
		}
	});

/** Bytes of the largest document of a grant. */
export const grantBytes = (service: TestService): Promise<number> =>
	inDatabase(service, async (client) => {
		const { rows } = await client.query<{ bytes: number }>(
			"SELECT max(octet_length(value::text)) AS bytes FROM records WHERE key LIKE 'grant:%'",
		);
		return Number(rows[0]?.bytes);
	});
