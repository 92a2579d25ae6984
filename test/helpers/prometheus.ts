// A strict reader of the text format of Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4).

import assert from 'node:assert/strict';

export interface Sample {
	name: string;
	labels: Record<string, string>;
	value: number;
}

export interface Scraped {
	types: Map<string, string>;
	samples: Sample[];
	/** Returns the sum of the samples that have these labels. */
	sum(name: string, labels?: Record<string, string>): number;
	/** Returns the values of a label. */
	values(name: string, label: string): string[];
}

const HEAD = /^# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/;
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|\+Inf|NaN)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/y;
const TYPES = ['counter', 'gauge', 'histogram'];

/** @throws AssertionError for each line that is not of the format, a series that is told twice, and a histogram that does not add up */
export function parsePrometheus(text: string): Scraped {
	const types = new Map<string, string>();
	const samples: Sample[] = [];
	const seen = new Set<string>();
	assert.ok(text.endsWith('\n'), 'the last line ends with a line feed');
	for (const line of text.split('\n')) {
		if (line === '') continue;
		const head = HEAD.exec(line);
		if (head?.[1] === 'TYPE') {
			assert.ok(!types.has(head[2] ?? ''), `one TYPE for ${head[2]}`);
			assert.ok(TYPES.includes(head[3] ?? ''), line);
			types.set(head[2] ?? '', head[3] ?? '');
		}
		if (line.startsWith('#')) {
			assert.ok(head, line);
			continue;
		}
		const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? assert.fail(`no line of the format: ${line}`);
		const series = line.slice(0, line.lastIndexOf(' '));
		assert.ok(!seen.has(series), `told twice: ${series}`);
		seen.add(series);
		assert.ok(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, '')), `no TYPE for ${name}`);
		samples.push({ name, labels: labelsOf(labels, line), value: Number(value.replace('Inf', 'Infinity')) });
	}
	const having = (name: string, labels: Record<string, string>): Sample[] =>
		samples.filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value));
	for (const [name, type] of types) if (type === 'histogram') assertAddsUp(name, samples);
	return {
		types,
		samples,
		sum: (name, labels = {}) => having(name, labels).reduce((sum, { value }) => sum + value, 0),
		values: (name, label) => [...new Set(having(name, {}).map(({ labels }) => labels[label] ?? ''))],
	};
}

function labelsOf(text: string, line: string): Record<string, string> {
	const labels: Record<string, string> = {};
	LABEL.lastIndex = 0;
	while (LABEL.lastIndex < text.length) {
		const at = LABEL.lastIndex;
		const [, name = '', value = ''] = LABEL.exec(text) ?? assert.fail(`no label at ${at}: ${line}`);
		labels[name] = value.replaceAll(/\\(["\\n])/g, (_all, char) => (char === 'n' ? '\n' : char));
	}
	return labels;
}

/** Buckets count up, and the last one has everything. */
function assertAddsUp(name: string, samples: readonly Sample[]): void {
	const series = new Map<string, Sample[]>();
	for (const sample of samples.filter((one) => one.name === `${name}_bucket`)) {
		const { le: _le, ...rest } = sample.labels;
		const key = JSON.stringify(Object.entries(rest).toSorted());
		series.set(key, [...(series.get(key) ?? []), sample]);
	}
	const counts = new Map(
		samples.filter((one) => one.name === `${name}_count`).map((one) => [JSON.stringify(Object.entries(one.labels).toSorted()), one.value]),
	);
	assert.deepEqual([...series.keys()].toSorted(), [...counts.keys()].toSorted(), name);
	for (const [key, buckets] of series) {
		for (const [at, { value }] of buckets.entries()) assert.ok(at === 0 || value >= (buckets[at - 1]?.value ?? 0), `${name} counts up`);
		assert.equal(buckets.at(-1)?.labels['le'], '+Inf');
		assert.equal(buckets.at(-1)?.value, counts.get(key));
	}
}
