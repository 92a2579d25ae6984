// Writes a language model with random weights as GGUF, version 3: a llama of two layers and 323 tokens. It writes nonsense, but it is inferred
// like any other.

const [EMBEDDING, LAYERS, FEED_FORWARD, HEADS, CONTEXT] = [64, 2, 128, 4, 2048];
const ALIGNMENT = 32;
/** Types of GGUF's metadata. */
const [U32, F32, TEXT, LIST, I32] = [4, 6, 8, 9, 5] as const;
/** Types of tokens. */
const [NORMAL, UNKNOWN, CONTROL, BYTE] = [1, 2, 3, 6] as const;
const LETTERS = '▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?:;-\'"()';

export function writeTinyModel(): Buffer {
	const tokens = [
		['<unk>', UNKNOWN],
		['<s>', CONTROL],
		['</s>', CONTROL],
		...Array.from({ length: 256 }, (_, byte) => [`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, BYTE] as const),
		...[...LETTERS].map((letter) => [letter, NORMAL] as const),
	] as const;
	const metadata = [
		pair('general.architecture', TEXT, text('llama')),
		pair('general.name', TEXT, text('tiny')),
		...Object.entries({
			context_length: CONTEXT,
			embedding_length: EMBEDDING,
			block_count: LAYERS,
			feed_forward_length: FEED_FORWARD,
			'attention.head_count': HEADS,
			'rope.dimension_count': EMBEDDING / HEADS,
		}).map(([name, value]) => pair(`llama.${name}`, U32, u32(value))),
		pair('llama.attention.layer_norm_rms_epsilon', F32, f32(1e-5)),
		pair('tokenizer.ggml.model', TEXT, text('llama')),
		pair(
			'tokenizer.ggml.tokens',
			LIST,
			list(
				TEXT,
				tokens.map(([token]) => text(token)),
			),
		),
		pair(
			'tokenizer.ggml.scores',
			LIST,
			list(
				F32,
				tokens.map((_, at) => f32(-at)),
			),
		),
		pair(
			'tokenizer.ggml.token_type',
			LIST,
			list(
				I32,
				tokens.map(([, type]) => u32(type)),
			),
		),
		pair('tokenizer.ggml.bos_token_id', U32, u32(1)),
		pair('tokenizer.ggml.eos_token_id', U32, u32(2)),
		pair('tokenizer.ggml.unknown_token_id', U32, u32(0)),
	];
	const tensors = tensorsOf(tokens.length);
	let offset = 0;
	const infos = tensors.map(({ name, shape, data }) => {
		const info = Buffer.concat([text(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset)]);
		offset += padded(data.length);
		return info;
	});
	const head = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.length), ...metadata, ...infos]);
	return Buffer.concat([pad(head), ...tensors.map(({ data }) => pad(data))]);
}

interface Tensor {
	name: string;
	shape: number[];
	data: Buffer;
}

function tensorsOf(vocabulary: number): Tensor[] {
	const next = randomly();
	const make = (name: string, ...shape: number[]): Tensor => {
		const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
		// Norms are ones; the rest is small, so that no layer overflows.
		for (let at = 0; at < values.length; at++) values[at] = shape.length === 1 ? 1 : (next() - 0.5) * 0.4;
		return { name: `${name}.weight`, shape, data: Buffer.from(values.buffer) };
	};
	const layers = Array.from({ length: LAYERS }, (_, layer) => [
		make(`blk.${layer}.attn_norm`, EMBEDDING),
		...['q', 'k', 'v', 'output'].map((part) => make(`blk.${layer}.attn_${part}`, EMBEDDING, EMBEDDING)),
		make(`blk.${layer}.ffn_norm`, EMBEDDING),
		...['gate', 'up'].map((part) => make(`blk.${layer}.ffn_${part}`, EMBEDDING, FEED_FORWARD)),
		make(`blk.${layer}.ffn_down`, FEED_FORWARD, EMBEDDING),
	]);
	return [
		make('token_embd', EMBEDDING, vocabulary),
		make('output_norm', EMBEDDING),
		make('output', EMBEDDING, vocabulary),
		...layers.flat(),
	];
}

/** The same numbers at each run, from 0 to 1 (xorshift). */
function randomly(): () => number {
	let state = 0x9e3779b9;
	return () => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return (state >>> 0) / 2 ** 32;
	};
}

const u32 = (value: number): Buffer => {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(value);
	return bytes;
};
const f32 = (value: number): Buffer => {
	const bytes = Buffer.alloc(4);
	bytes.writeFloatLE(value);
	return bytes;
};
const u64 = (value: number): Buffer => {
	const bytes = Buffer.alloc(8);
	bytes.writeBigUInt64LE(BigInt(value));
	return bytes;
};
const text = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const pair = (name: string, type: number, value: Buffer): Buffer => Buffer.concat([text(name), u32(type), value]);
const list = (type: number, items: readonly Buffer[]): Buffer => Buffer.concat([u32(type), u64(items.length), ...items]);
const padded = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT;
const pad = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(padded(bytes.length) - bytes.length)]);
