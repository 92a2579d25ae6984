// Questions of tools, and of assignments that want each run confirmed: the task waits for its client, whose next message answers. An answer counts
// for its question alone, and as long as the task keeps its arguments.

import { createHash } from 'node:crypto';
import { type Answer, type Asker, isObject, type Json, type JsonObject, type Question } from '../../core/index.ts';
import { tryParse } from './skills.ts';
import { moved, says, type Task } from './tasks.ts';
import type { Message } from './wire.ts';

/** A question as its task keeps it. */
export type KeptQuestion = {
	key: string;
	/** The hash of all that the user was shown. */
	hash: string;
	message: string;
	schema: JsonObject;
};

/** The answers of a task by the keys of their questions. */
export type KeptAnswers = Record<string, { hash: string; answer: Json }>;

/** @param place of the question among those of its tool, which names it when it has no key. */
export function keptQuestion({ key, message, schema }: Question, place: number): KeptQuestion {
	const shown: JsonObject = JSON.parse(JSON.stringify(schema));
	const hash = createHash('sha256')
		.update(JSON.stringify([message, shown]))
		.digest('base64url');
	return { key: key ?? `question-${place}`, hash, message, schema: shown };
}

/** Gives the answers of earlier turns; a question without one ends the run. @param asked gets that question */
export function asker({ content: { answers } }: Task, asked: KeptQuestion[]): Asker {
	let place = 0;
	return async (question) => {
		place += 1;
		const kept = keptQuestion(question, place);
		const known = Object.hasOwn(answers, kept.key) ? answers[kept.key] : undefined;
		// `answered` wrote it, and core checks it.
		if (known?.hash === kept.hash) return known.answer as Answer;
		asked.push(kept);
		return 'later';
	};
}

/** The tool asks the user of the client. */
export function asking(question: KeptQuestion): (task: Task) => Task {
	const { key, message, schema } = question;
	return (task) => {
		const parts = [
			{ text: message, mediaType: 'text/plain' },
			{ data: { question: { key, schema } }, mediaType: 'application/json' },
		];
		return moved(task, 'TASK_STATE_INPUT_REQUIRED', { question, said: says(task, ...parts) });
	};
}

/** The message answers the question of the tool: with data, or with a text for the only field. */
export function answered(task: Task, question: KeptQuestion, { parts }: Message): Task {
	const texts = parts.flatMap(({ text }) => text ?? []);
	const data = parts.map(({ data: one, text }) => one ?? (text === undefined ? null : tryParse(text))).find((one) => one !== null);
	const answer = answerIn(isGiven(data) ? data : fieldOf(question, texts.join('\n').trim()));
	const { key, hash } = question;
	return moved(task, 'TASK_STATE_SUBMITTED', { question: null, answers: { ...task.content.answers, [key]: { hash, answer } } });
}

const isGiven = (data: unknown): data is JsonObject => typeof data === 'object' && data !== null && !Array.isArray(data);

function answerIn(given: JsonObject): Json {
	const { action = 'accept', content } = given;
	if (action === 'decline' || action === 'cancel') return { action };
	return { action: 'accept', content: isObject(content) ? content : given };
}

const WORDS: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** Reads a text as the first field of the form. What does not fit its type is left as it is, and refused. */
function fieldOf({ schema: { properties } }: KeptQuestion, text: string): JsonObject {
	const [[name, field] = ['answer', null]] = isGiven(properties) ? Object.entries(properties) : [];
	const { type } = isGiven(field) ? field : {};
	if (type === 'boolean') return { [name]: WORDS[text.toLowerCase()] ?? text };
	const isNumber = (type === 'number' || type === 'integer') && text !== '' && Number.isFinite(Number(text));
	return { [name]: isNumber ? Number(text) : text };
}
