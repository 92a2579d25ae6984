// Moves time for stored records of plugins: the database's clock decides about them, so their times are moved back in the database.

import pg from 'pg';
import type { SharedService } from './service.ts';

export const SECOND = 1000;
export const HOUR = 3600 * SECOND;
export const DAY = 24 * HOUR;

/** A time longer than the usual grace of a refresh token, and than that of a code (decisions, 27). */
export const GRACE_OVER = 61 * SECOND;

/** Runs the work on a connection of its own. */
async function inDatabase<T>({ config: { database } }: SharedService, work: (client: pg.Client) => Promise<T>): Promise<T> {
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
 * The statement moves back the times of rows, and in their documents the members called `…AtMs`, which are times of the database. The time
 * of creation ends nothing; it is only compared with the time at which the user joined, which replicas cache until they are notified of a
 * change. So it stays.
 */
const OLDER = `
UPDATE records SET revision = revision + 1,
	expires_at = expires_at - $1::float8 * interval '1 millisecond',
	taken_at = taken_at - $1::float8 * interval '1 millisecond',
	value = $3::json
WHERE seq = $2 AND revision = $4`;

/** Ages all records of the service, as if it had been unused for this time. No other test may use it meanwhile. */
export const passTime = (service: SharedService, ms: number): Promise<void> =>
	inDatabase(service, async (client) => {
		const { rows } = await client.query<{ seq: string; value: string; revision: number }>('SELECT seq, value::text, revision FROM records');
		for (const { seq, value, revision } of rows) {
			const older = value.replace(/("\w*[aA]tMs":\s*)(\d+)/g, (_match, name: string, at: string) => `${name}${Number(at) - ms}`);
			await client.query(OLDER, [ms, seq, older, revision]);
		}
	});

/** Measures the largest document of a grant, in bytes. */
export const grantBytes = (service: SharedService): Promise<number> =>
	inDatabase(service, async (client) => {
		const { rows } = await client.query<{ bytes: number }>(
			"SELECT max(octet_length(value::text)) AS bytes FROM records WHERE key LIKE 'grant:%'",
		);
		return Number(rows[0]?.bytes);
	});
