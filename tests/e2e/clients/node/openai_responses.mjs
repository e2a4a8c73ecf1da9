// The official OpenAI client on the Responses API: plain requests, or its stream helper. Each one
// continues from the response before.

import OpenAI from "openai";
import { description, name, parameters, prompt, streaming, system, weather } from "./weather.mjs";

const client = new OpenAI();
const tools = [{ type: "function", name, description, parameters, strict: true }];

async function ask(input, previous_response_id) {
  const request = { model: "small-1", instructions: system, input, tools, previous_response_id };
  if (streaming) return client.responses.stream(request).finalResponse();
  return client.responses.create(request);
}

let response = await ask([{ role: "user", content: prompt }]);
for (;;) {
  const calls = response.output.filter((item) => item.type === "function_call");
  if (!calls.length) break;
  const outputs = calls.map(({ call_id, arguments: text }) => ({
    type: "function_call_output",
    call_id,
    output: weather(JSON.parse(text)),
  }));
  response = await ask(outputs, response.id);
}
console.log(response.output_text);
