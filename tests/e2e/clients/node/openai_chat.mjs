// The official OpenAI client on chat completions: plain requests, or its stream helper.

import OpenAI from "openai";
import { description, name, parameters, prompt, streaming, system, weather } from "./weather.mjs";

const client = new OpenAI();
const tools = [{ type: "function", function: { name, description, parameters, strict: true } }];
const messages = [
  { role: "system", content: system },
  { role: "user", content: prompt },
];

async function ask() {
  const request = { model: "small-1", messages, tools };
  if (streaming) return client.chat.completions.stream(request).finalMessage();
  return (await client.chat.completions.create(request)).choices[0].message;
}

// What the stream helper adds to a call, such as the arguments it has parsed, is not sent back.
function call({ id, function: { name, arguments: text } }) {
  return { id, type: "function", function: { name, arguments: text } };
}

let message = await ask();
while (message.tool_calls?.length) {
  const calls = message.tool_calls.map(call);
  messages.push({ role: "assistant", content: message.content, tool_calls: calls });
  for (const { id, function: called } of calls) {
    const content = weather(JSON.parse(called.arguments));
    messages.push({ role: "tool", tool_call_id: id, content });
  }
  message = await ask();
}
console.log(message.content);
