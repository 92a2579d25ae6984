// Metrics with the official SDK: one set of instruments, read by Prometheus and sent by OTLP.

import type { Attributes, BatchObservableResult, Counter, Histogram, Observable } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import type { Resource } from '@opentelemetry/resources';
import { type IMetricReader, MeterProvider, MetricReader, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { GAUGES, type Gauges, observed, type Sources, startLoopClock } from './gauges.ts';
import { METRICS, type Metric, type MetricName } from './names.ts';
import { metricsTo } from './otlp/exporters.ts';
import type { OtlpConfig } from './variables.ts';

/** The most series of one metric. Labels are bounded before; beyond it the SDK counts together what is left. */
const SERIES = 20_000;

export interface MeterParts {
	resource: Resource;
	version: string;
	otlp: OtlpConfig | null;
	isScraped: boolean;
}

export class Meters {
	/** Whether anybody reads. */
	readonly isOn: boolean;
	readonly #provider: MeterProvider;
	readonly #scraper: Scraper | null;
	readonly #instruments = new Map<MetricName, (value: number, labels: Attributes) => void>();
	readonly #gauges = new Map<MetricName, Observable>();
	readonly #loop = startLoopClock();
	readonly #serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
	#sources: Sources | null = null;

	constructor({ resource, version, otlp, isScraped }: MeterParts) {
		this.#scraper = isScraped ? new Scraper() : null;
		const sender = otlp?.metrics ? senderTo(otlp.metrics, otlp) : null;
		const readers = [this.#scraper, sender].filter((one): one is Scraper & IMetricReader => one !== null);
		this.#provider = new MeterProvider({ resource, readers });
		this.isOn = readers.length > 0;
		if (this.isOn) this.#create(version);
	}

	/** Adds to a metric; nothing while no reader is there. */
	readonly measure = (name: MetricName, value: number, labels: Attributes): void => this.#instruments.get(name)?.(value, labels);

	observe(sources: Sources): void {
		this.#sources = sources;
	}

	/** @returns the text format of Prometheus, version 0.0.4 */
	async scrape(): Promise<string> {
		if (!this.#scraper) return '';
		const { resourceMetrics } = await this.#scraper.collect();
		return this.#serializer.serialize(resourceMetrics);
	}

	async close(): Promise<void> {
		this.#loop.stop();
		await this.#provider.shutdown();
	}

	#create(version: string): void {
		const meter = this.#provider.getMeter('gatehouse', version);
		for (const [key, metric] of Object.entries(METRICS) as [MetricName, Metric][]) {
			const { name, kind, unit, description, buckets } = metric;
			const advice = buckets ? { explicitBucketBoundaries: [...buckets] } : {};
			const isLooked = GAUGES.includes(key as keyof Gauges);
			if (isLooked && kind === 'counter') this.#gauges.set(key, meter.createObservableCounter(name, { unit, description }));
			else if (isLooked) this.#gauges.set(key, meter.createObservableGauge(name, { unit, description }));
			else if (kind === 'histogram') this.#add(key, meter.createHistogram(name, { unit, description, advice }));
			else this.#add(key, meter.createCounter(name, { unit, description }));
		}
		meter.addBatchObservableCallback((result) => this.#look(result), [...this.#gauges.values()]);
	}

	#add(key: MetricName, instrument: Counter | Histogram): void {
		this.#instruments.set(
			key,
			'add' in instrument ? (value, labels) => instrument.add(value, labels) : (value, labels) => instrument.record(value, labels),
		);
	}

	async #look(result: BatchObservableResult): Promise<void> {
		const points = await observed(this.#sources, this.#loop);
		for (const { metric, value, labels } of points) {
			const gauge = this.#gauges.get(metric);
			if (gauge) result.observe(gauge, value, labels);
		}
	}
}

/** A reader that answers when it is asked. */
class Scraper extends MetricReader {
	constructor() {
		super({ cardinalitySelector: () => SERIES });
	}

	protected override async onForceFlush(): Promise<void> {}

	protected override async onShutdown(): Promise<void> {}
}

const senderTo = (url: string, otlp: OtlpConfig): PeriodicExportingMetricReader =>
	new PeriodicExportingMetricReader({
		exporter: metricsTo(url, otlp),
		exportIntervalMillis: otlp.metricIntervalMs,
		exportTimeoutMillis: Math.min(otlp.metricIntervalMs, 30_000),
		cardinalityLimits: { default: SERIES },
	});
