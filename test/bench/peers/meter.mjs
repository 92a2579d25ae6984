// Loaded before a peer: tells the benchmark the CPU time of its process, and ends with it.

process.on('message', () => {
	const { user, system } = process.cpuUsage();
	process.send?.({ cpuMicros: user + system });
});
process.on('disconnect', () => process.exit());
