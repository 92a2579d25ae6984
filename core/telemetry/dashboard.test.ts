// Compares the dashboard of Grafana with the metrics that we emit.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { METRICS, type Metric, prometheusLabel, prometheusName } from './names.ts';

interface Panel {
	id: number;
	type: string;
	title: string;
	gridPos: { x: number; y: number; w: number; h: number };
	fieldConfig?: { defaults: { unit: string } };
	targets?: { expr: string; legendFormat: string }[];
}

const dashboard = JSON.parse(readFileSync(new URL('../../docs/grafana/gatehouse.json', import.meta.url), 'utf8'));
const panels: Panel[] = dashboard.panels;
const shown = panels.filter(({ type }) => type !== 'row');
const KNOWN = new Map<string, Metric>(Object.values(METRICS).map((metric) => [prometheusName(metric), metric]));
/** Labels that Prometheus adds to each series. */
const ADDED = ['job', 'instance', 'le'];
/** Words of PromQL. */
const WORDS = new Set('sum max by rate increase histogram_quantile topk'.split(' '));

function metricOf(series: string): Metric {
	const metric = KNOWN.get(series) ?? KNOWN.get(series.replace(/_(bucket|sum|count)$/, '')) ?? assert.fail(`no metric ${series}`);
	const isPart = !KNOWN.has(series);
	assert.equal(isPart, metric.kind === 'histogram', `${series} is a series of a ${metric.kind}`);
	return metric;
}

/** Checks the metrics and labels of a query. @returns the names of the metrics */
function checked(expr: string): string[] {
	const names = [...expr.matchAll(/\b([a-z][a-z0-9_]*)\{([^}]*)\}/g)];
	assert.ok(names.length > 0, expr);
	const allowed = new Set(ADDED);
	for (const [, series = '', matchers = ''] of names) {
		const labels = metricOf(series).labels.map(prometheusLabel);
		for (const label of labels) allowed.add(label);
		for (const [, label = ''] of matchers.matchAll(/([a-z_0-9]+)\s*(?:=~|!~|!=|=)/g))
			assert.ok(ADDED.includes(label) || labels.includes(label), `${series} has a label ${label}`);
	}
	for (const [, list = ''] of expr.matchAll(/\bby \(([^)]*)\)/g))
		for (const label of list.split(/,\s*/)) assert.ok(allowed.has(label), `${expr}: a label ${label}`);
	const bare = expr.replaceAll(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)/g, ' ').match(/[a-z_][a-z0-9_]*/g) ?? [];
	for (const word of bare) assert.ok(WORDS.has(word) || names.some(([, series]) => series === word), `${expr}: ${word}`);
	return names.map(([, series = '']) => prometheusName(metricOf(series)));
}

test('each panel of the dashboard asks for metrics and labels that we emit', () => {
	assert.ok(shown.length > 20);
	for (const { title, targets = [] } of shown) {
		assert.ok(targets.length > 0, title);
		for (const { expr, legendFormat } of targets) {
			const names = checked(expr);
			const labels = [...ADDED, ...names.flatMap((name) => KNOWN.get(name)?.labels.map(prometheusLabel) ?? [])];
			for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) assert.ok(labels.includes(label), `${title}: ${label}`);
		}
	}
});

test('each metric is on a panel', () => {
	const used = new Set(shown.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => checked(expr))));
	assert.deepEqual(
		[...KNOWN.keys()].filter((name) => !used.has(name)),
		[],
	);
});

test('counters and histograms are asked for as rates, gauges as they are', () => {
	for (const { targets = [] } of shown)
		for (const { expr } of targets) {
			const isRate = /\b(rate|increase)\(/.test(expr);
			assert.equal(
				isRate,
				checked(expr).every((name) => KNOWN.get(name)?.kind !== 'gauge'),
				expr,
			);
		}
});

test('panels do not overlap, and have ids and units of their own', () => {
	assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
	for (const [at, { gridPos: one, title }] of panels.entries()) {
		assert.ok(one.x + one.w <= 24, title);
		for (const { gridPos: other, title: second } of panels.slice(at + 1)) {
			const apart = one.x + one.w <= other.x || other.x + other.w <= one.x || one.y + one.h <= other.y || other.y + other.h <= one.y;
			assert.ok(apart, `${title} and ${second}`);
		}
	}
	for (const { fieldConfig, title } of shown) assert.ok(fieldConfig?.defaults.unit, title);
});

test('the variables ask for labels that we emit', () => {
	const queries: string[] = dashboard.templating.list.flatMap((one: { definition?: string }) => one.definition ?? []);
	assert.equal(queries.length, 3);
	for (const query of queries) {
		const [, series = '', label = ''] = /^label_values\(([a-z_]+)(?:\{[^}]*\})?, ([a-z_]+)\)$/.exec(query) ?? assert.fail(query);
		assert.ok([...ADDED, ...metricOf(series).labels.map(prometheusLabel)].includes(label), query);
	}
});
