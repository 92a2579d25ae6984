// The parts of Node's HTTP that open no connection. An `import` of it evaluates all that it exports, among which is a WebSocket client: that takes
// 85 ms in each process and thread, and this 7.

export const { createServer, validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');
