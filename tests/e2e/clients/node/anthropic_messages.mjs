// The official Anthropic client, with thinking: plain messages, or its stream helper.

import Anthropic from "@anthropic-ai/sdk";
import { description, name, parameters, prompt, streaming, system, weather } from "./weather.mjs";

const client = new Anthropic();
const thinking = { type: "enabled", budget_tokens: 1024 };
const tools = [{ name, description, input_schema: parameters }];
const messages = [{ role: "user", content: prompt }];

async function ask() {
  const request = { model: "small-1", max_tokens: 2048, thinking, system, messages, tools };
  if (streaming) return client.messages.stream(request).finalMessage();
  return client.messages.create(request);
}

let message = await ask();
while (message.stop_reason === "tool_use") {
  const results = message.content
    .filter((block) => block.type === "tool_use")
    .map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: weather(input) }));
  messages.push({ role: "assistant", content: message.content });
  messages.push({ role: "user", content: results });
  message = await ask();
}
console.log(message.content.map((block) => block.text ?? "").join(""));
