// How many tokens texts have: `node tokens.mjs FOLDER`, with the folder of the packages, answers each line of input,
// `["text", ...]`, with a line of pairs, for o200k_base and for cl100k_base.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const load = createRequire(`${process.argv[2]}/`);
const encodings = ['o200k_base', 'cl100k_base'].map((name) => load(`gpt-tokenizer/encoding/${name}`));
const plain = { allowedSpecial: new Set(), disallowedSpecial: new Set() };
for await (const line of createInterface({ input: process.stdin })) {
  const texts = JSON.parse(line);
  console.log(JSON.stringify(texts.map((each) => encodings.map((one) => one.encode(each, plain).length))));
}
