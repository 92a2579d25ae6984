// Results of runs, and those that are too large for a client, kept for a while for the caller who got them. Types only.

import type { ErrorCode } from './errors.ts';
import type { ContentBlock, ToolResult } from './nouns.ts';

/**
 * `error` says why a run failed; it is absent when the tool itself reported the failure in its content. `cut` is the label of a result that
 * has more bytes than it may, which `content` has, too, and `structured` cannot have.
 */
export type RunResult = ToolResult & { error?: { code: ErrorCode; message: string }; cut?: string };

/** A whole result, of which the caller was given the beginning. */
export interface KeptResult {
	/** 24 characters that cannot be guessed. */
	id: string;
	/** Numbered from 1. */
	pages: number;
	bytes: number;
	/** The type of the first page. */
	mimeType: string;
}

/** A part of a kept result: text, or bytes in base64. */
export type KeptPage = { page: number; pages: number; mimeType: string } & ({ text: string } | { blob: string });

/**
 * Tells how the caller gets a kept result: the end of a sentence after "Cut", for the model, and the block that leads there, if the protocol has
 * one.
 */
export type ResultLink = (kept: KeptResult) => { how: string; link?: ContentBlock };

/** The tokens and cost of the calls of models that a run made. Null: at least one provider did not tell, or its price is unknown. */
export interface ModelUse {
	calls: number;
	inputTokens: number | null;
	outputTokens: number | null;
	cachedTokens: number | null;
	/** In millionths of a US dollar, with fractions. */
	costMicroUsd: number | null;
}
