/** Reads YAML for yaml-aside.ts, in a thread of its own: text in, JSON text or what is wrong with it out. */
import { parentPort } from 'node:worker_threads';
import { jsonText } from '../../../api/json-text.ts';
import { readYaml, YamlSyntaxError } from './yaml-reader.ts';

export type YamlOrder = { readonly id: number; readonly text: string };
export type YamlAnswer = { readonly id: number } & (
  | { readonly json: string; readonly duplicates: readonly string[] }
  | { readonly syntaxError: string }
);

parentPort?.on('message', ({ id, text }: YamlOrder) => {
  parentPort?.postMessage(answerTo(id, text));
});

function answerTo(id: number, text: string): YamlAnswer {
  try {
    const { value, duplicates } = readYaml(text);
    return { id, json: jsonText(value), duplicates };
  } catch (err) {
    if (err instanceof YamlSyntaxError) return { id, syntaxError: err.message };
    throw err;
  }
}
