// OTLP as Protobuf, decoded into the form that it has as JSON: the fields that tests read, by the numbers of opentelemetry-proto 1.

import assert from 'node:assert/strict';
import protobuf from 'protobufjs';

const PROTO = `syntax = "proto3";
message Traces { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message Span {
	bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; fixed32 flags = 16;
	string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
	repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10; repeated Event events = 11; repeated Link links = 13; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4; }
message Status { string message = 2; int32 code = 3; }
message Metrics { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message Metric { string name = 1; string description = 2; string unit = 3; oneof data { Points gauge = 5; Points sum = 7; Histogram histogram = 9; } }
message Points { repeated Point data_points = 1; }
message Point { repeated KeyValue attributes = 7; fixed64 time_unix_nano = 3; oneof value { double as_double = 4; sfixed64 as_int = 6; } }
message Histogram { repeated HistogramPoint data_points = 1; }
message HistogramPoint { repeated KeyValue attributes = 9; fixed64 time_unix_nano = 3; fixed64 count = 4; optional double sum = 5; }
message Logs { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; }
message LogRecord {
	fixed64 time_unix_nano = 1; int32 severity_number = 2; string severity_text = 3; Value body = 5; repeated KeyValue attributes = 6;
	fixed32 flags = 8; bytes trace_id = 9; bytes span_id = 10;
}
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; string version = 2; }
message KeyValue { string key = 1; Value value = 2; }
message Value {
	oneof value {
		string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; Values array_value = 5; Pairs kvlist_value = 6;
		bytes bytes_value = 7;
	}
}
message Values { repeated Value values = 1; }
message Pairs { repeated KeyValue values = 1; }`;

const { root } = protobuf.parse(PROTO);
const TYPES: Readonly<Record<string, string>> = { '/v1/traces': 'Traces', '/v1/metrics': 'Metrics', '/v1/logs': 'Logs' };

/** Decodes the body of a request to this path. Ids are hexadecimal, as OTLP writes them in JSON. */
export function decodeOtlp(path: string, bytes: Buffer): object {
	const type = root.lookupType(TYPES[path] ?? assert.fail(path));
	const decoded = type.toObject(type.decode(bytes), { longs: Number, bytes: Buffer, arrays: false });
	// Only ids are bytes here.
	return JSON.parse(JSON.stringify(decoded, (_key, value) => (value?.type === 'Buffer' ? Buffer.from(value.data).toString('hex') : value)));
}
