// The official Google client: generateContent, or its stream.

import { GoogleGenAI } from "@google/genai";
import { description, name, parameters, prompt, streaming, system, weather } from "./weather.mjs";

const client = new GoogleGenAI({});
const config = {
  systemInstruction: system,
  tools: [{ functionDeclarations: [{ name, description, parametersJsonSchema: parameters }] }],
};
const contents = [{ role: "user", parts: [{ text: prompt }] }];

async function ask() {
  const request = { model: "small-1", contents, config };
  if (!streaming) return (await client.models.generateContent(request)).candidates[0].content.parts;
  const parts = [];
  for await (const chunk of await client.models.generateContentStream(request)) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
  }
  return parts;
}

let parts = await ask();
for (;;) {
  const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
  if (!calls.length) break;
  contents.push({ role: "model", parts });
  const results = calls.map(({ id, name, args }) => ({
    functionResponse: { id, name, response: { output: weather(args) } },
  }));
  contents.push({ role: "user", parts: results });
  parts = await ask();
}
console.log(parts.map((part) => part.text ?? "").join(""));
