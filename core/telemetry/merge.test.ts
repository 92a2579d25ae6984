import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePrometheus } from '../../test/helpers/prometheus.ts';
import { counted, merged } from './merge.ts';

const told = (
	calls: number,
	queued: number,
	worker: number,
): string => `# HELP gatehouse_gateway_requests_total Requests to published gateways.
# UNIT gatehouse_gateway_requests_total {request}
# TYPE gatehouse_gateway_requests_total counter
gatehouse_gateway_requests_total{gatehouse_gateway="a b} 7",gatehouse_outcome="success"} ${calls}

# HELP gatehouse_upstream_duration d
# TYPE gatehouse_upstream_duration histogram
gatehouse_upstream_duration_count ${calls}
gatehouse_upstream_duration_sum ${calls / 4}
gatehouse_upstream_duration_bucket{le="0.5"} 1
gatehouse_upstream_duration_bucket{le="+Inf"} ${calls}

# HELP gatehouse_runs_unfinished d
# TYPE gatehouse_runs_unfinished gauge
gatehouse_runs_unfinished{gatehouse_run_status="queued"} ${queued}

# HELP process_cpu_time_total d
# TYPE process_cpu_time_total counter
process_cpu_time_total{gatehouse_worker="${worker}"} 3

`;

test('counts and histograms of workers are added up, what all of them tell is not, and what is a worker’s own stays apart', () => {
	const { sum, samples } = parsePrometheus(merged([told(3, 5, 1), told(4, 6, 2)]));
	assert.equal(sum('gatehouse_gateway_requests_total', { gatehouse_gateway: 'a b} 7' }), 7);
	assert.equal(sum('gatehouse_upstream_duration_count'), 7);
	assert.equal(sum('gatehouse_upstream_duration_sum'), 1.75);
	assert.equal(sum('gatehouse_upstream_duration_bucket', { le: '0.5' }), 2);
	assert.equal(sum('gatehouse_upstream_duration_bucket', { le: '+Inf' }), 7);
	assert.equal(sum('gatehouse_runs_unfinished'), 6);
	assert.equal(samples.filter(({ name }) => name === 'process_cpu_time_total').length, 2);
});

test('what an ended worker had counted stays in the sum, and its gauges do not', () => {
	const ended = counted(told(3, 5, 1));
	const { sum, types } = parsePrometheus(merged([ended, told(4, 0, 2)]));
	assert.equal(sum('gatehouse_gateway_requests_total'), 7);
	assert.equal(sum('gatehouse_upstream_duration_count'), 7);
	assert.equal(sum('gatehouse_runs_unfinished'), 0);
	assert.equal(sum('process_cpu_time_total'), 3);
	assert.equal(types.get('gatehouse_upstream_duration'), 'histogram');
});

test('one process’s text comes out as it went in', () => {
	assert.equal(merged([told(2, 1, 1)]), told(2, 1, 1));
	assert.equal(merged([]), '');
});
