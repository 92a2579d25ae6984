// Writes an imported schema: operations are staged as they arrive and merged with the stored ones at the end, when all are known.
// Everything happens in one transaction on a connection of its own.

import type { Attributes, Transaction } from 'sequelize';
import type { ImportJobEnd, ImportWriter, KeptSource, OperationFilter, SchemaRow, WrittenImport } from '../../core/store/store.ts';
import type { Database } from '../connection.ts';
import { guard } from '../errors.ts';
import { type ApiSchema, SCHEMA } from '../models/api.ts';
import { pick } from '../models/columns.ts';
import type { Models } from '../models/index.ts';
import { merge } from './merging.ts';
import { operationsWhere } from './operations.ts';
import { noteWritten } from './queue.ts';
import { keepSource } from './sources.ts';
import { type Import, openStage, stage } from './staging.ts';
import { inTurn, lockApi, WORK_WAIT_MS } from './turns.ts';

/** @returns null when there is no such API */
export async function beginImport(
	database: Database,
	models: Models,
	ofApi: Pick<Import, 'organizationId' | 'apiId'>,
): Promise<ImportWriter | null> {
	const sequelize = database.bulk;
	const transaction = await inTurn(WORK_WAIT_MS, () => beginLocked(database, ofApi.apiId));
	try {
		const api = await models.Api.findOne({ where: { organizationId: ofApi.organizationId, id: ofApi.apiId }, transaction, raw: true });
		if (!api) {
			await transaction.rollback();
			return null;
		}
		const current = { sequelize, transaction, ...ofApi };
		await openStage(current);
		return createWriter(current, models, new Pulse(current, database.waits.idleMs));
	} catch (error) {
		await transaction.rollback();
		throw error;
	}
}

/** @returns null while another transaction has the API */
async function beginLocked(database: Database, apiId: string): Promise<Transaction | null> {
	const transaction = await database.begin();
	try {
		if (await lockApi(database.bulk, apiId, transaction)) return transaction;
	} catch (error) {
		await transaction.rollback();
		throw error;
	}
	await transaction.rollback();
	return null;
}

type WrittenSchema = Omit<SchemaRow, 'id' | 'organizationId' | 'apiId' | 'createdAt' | 'updatedAt'> & { source: KeptSource };

function createWriter(current: Import, { ApiOperation, ApiSchema }: Models, pulse: Pulse): ImportWriter {
	const { sequelize, transaction, organizationId, apiId } = current;
	let isOpen = true;
	const abort = async (): Promise<void> => {
		if (!isOpen) return;
		isOpen = false;
		await pulse.stop();
		await transaction.rollback();
	};
	const orAbort = async <T>(work: () => Promise<T>): Promise<T> => {
		try {
			await pulse.stop();
			return await work();
		} catch (error) {
			await abort();
			throw error;
		}
	};
	const countOf = (filter: OperationFilter): Promise<number> =>
		ApiOperation.count({ where: operationsWhere(organizationId, apiId, filter), transaction });
	const write = async (
		schema: WrittenSchema,
		counts: Omit<WrittenImport, 'schema'>,
		job: ImportJobEnd | undefined,
	): Promise<WrittenImport> => {
		const { format, title, version, servers, sourceUrl, sizeBytes, sha256, report, changes } = schema;
		const row = await ApiSchema.create(
			{ organizationId, apiId, format, title, version, servers, sourceUrl, sizeBytes, sha256, report, changes },
			{ transaction },
		);
		await keepSource(current, row.id, schema.source);
		// The job's row is locked after the schema, which locks its API: in this order no deadlock is possible.
		if (job) await noteWritten({ bulk: sequelize }, job, { schemaId: row.id, transaction });
		isOpen = false;
		await transaction.commit();
		return { schema: toSchema(row), ...counts };
	};
	return guard<ImportWriter>({
		async operations(batch) {
			await pulse.stop();
			await stage(current, batch);
			pulse.start();
		},
		commit: (schema, reader, job, check) =>
			orAbort(async () => {
				const { changes, ...counts } = await merge(current, reader ?? null);
				await check?.(countOf, counts);
				return write({ ...schema, changes }, counts, job);
			}),
		repeat: ({ schemaId, source }, reader, job, check) =>
			orAbort(async () => {
				// The API is locked: later schemas have larger numbers.
				const latest = await ApiSchema.findOne({ where: { organizationId, apiId }, order: [['seq', 'DESC']], transaction, raw: true });
				if (latest?.id !== schemaId) {
					await abort();
					return null;
				}
				const operations = await countOf({ status: 'active' });
				const counts = { added: 0, changed: 0, unchanged: operations, removed: 0 };
				const changes = reader.finish({ operations, ...counts, isFirst: false, toolsUpdated: 0 });
				await check?.(countOf, counts);
				return write({ ...latest, changes, source }, counts, job && { ...job, operations });
			}),
		abort,
	});
}

/** Keeps a transaction alive while its import reads the document. Never runs beside another statement of it. */
class Pulse {
	readonly #of: Pick<Import, 'sequelize' | 'transaction'>;
	readonly #everyMs: number;
	#timer: NodeJS.Timeout | undefined;
	#last: Promise<unknown> = Promise.resolve();

	/** @param idleMs after which the database ends a transaction */
	constructor(of: Pick<Import, 'sequelize' | 'transaction'>, idleMs: number) {
		this.#of = of;
		this.#everyMs = idleMs / 4;
	}

	start(): void {
		const { sequelize, transaction } = this.#of;
		this.#timer = setTimeout(() => {
			// A broken connection is reported by the next statement of the import.
			this.#last = sequelize.query('SELECT 1', { transaction }).then(
				() => this.#timer && this.start(),
				() => undefined,
			);
		}, this.#everyMs);
	}

	async stop(): Promise<void> {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		await this.#last;
	}
}

export const toSchema = (row: Attributes<ApiSchema>): SchemaRow => pick(row, SCHEMA);
