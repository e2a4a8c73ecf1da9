// The tool runner of the official Anthropic client, which keeps the conversation on the server.

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { description, name, parameters, prompt, streaming, system, weather } from "./weather.mjs";

const runner = new Anthropic().beta.messages.toolRunner({
  model: "small-1",
  max_tokens: 256,
  system,
  messages: [{ role: "user", content: prompt }],
  tools: [betaTool({ name, description, inputSchema: parameters, run: weather })],
  stream: streaming,
});
const message = await runner.runUntilDone();
console.log(message.content.map((block) => block.text ?? "").join(""));
