// The AI SDK over the provider named on the command line: generateText, or streamText.

import { anthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { openai } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { description, name, prompt, streaming, system, weather } from "./weather.mjs";

// The one provider that takes its address from no variable.
const google = createGoogle({
  baseURL: `${process.env.GOOGLE_GEMINI_BASE_URL}/v1beta`,
  apiKey: process.env.GEMINI_API_KEY,
});
const providers = { openai, "openai.chat": openai.chat, anthropic, google };
const inputSchema = z.object({ city: z.string() });
const request = {
  model: providers[process.argv[2]]("small-1"),
  instructions: system,
  prompt,
  maxOutputTokens: 256,
  tools: { [name]: tool({ description, inputSchema, execute: weather }) },
  stopWhen: isStepCount(5),
};
const result = streaming ? streamText(request) : await generateText(request);
console.log(await result.text);
