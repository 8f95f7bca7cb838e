// How many tokens texts are (o200k_base): `node tokens.mjs FOLDER < '["text", ...]'`, with the folder of the packages.
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';

const load = createRequire(`${process.argv[2]}/`);
const { Tiktoken } = load('js-tiktoken/lite');
const encoding = new Tiktoken(load('js-tiktoken/ranks/o200k_base'));
const texts = JSON.parse(await text(process.stdin));
console.log(JSON.stringify(texts.map((each) => encoding.encode(each).length)));
