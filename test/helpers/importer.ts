// Reads a text with an importer to the end: the reading of the importers' suite.

export { type Reading, readWith } from '../../testing/reading.ts';
