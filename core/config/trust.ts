// The part of the environment that processes of the service get that read what strangers send: which certificates are trusted.

/** `SystemRoot` is where Windows finds its own libraries. */
const NAMES = ['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_DIR', 'SSL_CERT_FILE', 'SystemRoot'];
const OPTIONS = /^--(?:use-(?:bundled|openssl|system)-ca|tls-|openssl-|dns-result-order)/;

/** Returns the variables for such a process, and the options with which this one was started. */
export function trustOfProcess(): { env: Record<string, string>; options: string[] } {
	const env: Record<string, string> = {};
	for (const name of NAMES) if (process.env[name] !== undefined) env[name] = process.env[name];
	return { env, options: process.execArgv.filter((option) => OPTIONS.test(option)) };
}
