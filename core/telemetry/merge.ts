// Adds up the metrics of several processes in the text format of Prometheus, as the official exporter writes it.

import { ATTRIBUTES, METRICS, type Metric, prometheusLabel, prometheusName } from './names.ts';

interface Family {
	/** The lines of HELP, UNIT and TYPE. */
	head: string[];
	values: Map<string, number>;
}

const ALL: readonly Metric[] = Object.values(METRICS);
/** Gauges of the whole installation: each process tells the same. */
const SHARED = new Set(ALL.filter(({ isShared }) => isShared).map(prometheusName));
/** These count up: they must not fall when a worker ends, or Prometheus would take their sum for one that began anew. */
const CUMULATIVE = new Set(ALL.filter(({ kind }) => kind !== 'gauge').map(prometheusName));
const OWN = `${prometheusLabel(ATTRIBUTES.worker)}="`;

/** Adds up series of the same name and labels. */
export function merged(texts: readonly string[]): string {
	const families = new Map<string, Family>();
	for (const text of texts) for (const [name, family] of read(text)) add(families, name, family);
	return [...families.values()].map(written).join('');
}

/** Returns what a process counted that has ended. */
export function counted(text: string): string {
	const families = [...read(text)].filter(([name]) => CUMULATIVE.has(name));
	return families
		.map(([, { head, values }]) => written({ head, values: new Map([...values].filter(([series]) => !series.includes(OWN))) }))
		.join('');
}

function add(families: Map<string, Family>, name: string, { head, values }: Family): void {
	const known = families.get(name);
	if (!known) return void families.set(name, { head, values: new Map(values) });
	for (const [series, value] of values) {
		const before = known.values.get(series);
		const isShared = SHARED.has(name);
		known.values.set(series, before === undefined ? value : isShared ? Math.max(before, value) : before + value);
	}
}

/** Reads the families of a text by name. */
function read(text: string): Map<string, Family> {
	const families = new Map<string, Family>();
	let current: Family | null = null;
	for (const line of text.split('\n')) {
		const head = /^# (HELP|UNIT|TYPE) (\S+)/.exec(line);
		if (head?.[2] !== undefined) {
			current = families.get(head[2]) ?? { head: [], values: new Map() };
			families.set(head[2], current);
			current.head.push(line);
		} else if (line !== '' && !line.startsWith('#') && current) {
			const at = line.lastIndexOf(' ');
			current.values.set(line.slice(0, at), Number(line.slice(at + 1).replace('Inf', 'Infinity')));
		}
	}
	return families;
}

function written({ head, values }: Family): string {
	if (values.size === 0) return '';
	const shown = (value: number): string => String(value).replace('Infinity', 'Inf');
	return `${[...head, ...[...values].map(([series, value]) => `${series} ${shown(value)}`)].join('\n')}\n\n`;
}
