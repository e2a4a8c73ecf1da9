// An agent whose tools are those of a stdio server: asks its model, makes the calls that it wants.
// node files.mjs PACKAGE FOLDER, where PACKAGE is the SDK's, client or sdk, and FOLDER is what the
// server is told to be a root.
// AGENT_PLAN may hold `instead`: arguments that the agent puts in place of the model's.
import { pathToFileURL } from "node:url";

const { instead } = JSON.parse(process.env.AGENT_PLAN);
const [, , name, folder] = process.argv;
const [command, ...args] = JSON.parse(process.env.FLOWPROOF_MCP_ARGV_files);

async function ask(messages, tools) {
  const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer x" },
    body: JSON.stringify({ model: "m", messages, tools }),
  });
  return (await answer.json()).choices[0].message;
}

async function converse(client) {
  const tools = (await client.listTools()).tools.map(({ name, inputSchema }) => ({
    type: "function",
    function: { name, parameters: inputSchema },
  }));
  const messages = [{ role: "user", content: process.env.FLOWPROOF_PROMPT }];
  for (;;) {
    const said = await ask(messages, tools);
    messages.push(said);
    if (!said.tool_calls) return said.content;
    for (const { id, function: wish } of said.tool_calls) {
      const made = { ...JSON.parse(wish.arguments), ...instead };
      const { content } = await client.callTool({ name: wish.name, arguments: made });
      const text = content.map((part) => part.text).join("");
      console.log(`${wish.name}: ${text}`);
      messages.push({ role: "tool", tool_call_id: id, content: text });
    }
  }
}

async function sdk() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { ListRootsRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  return { Client, StdioClientTransport, roots: ListRootsRequestSchema };
}

async function split() {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return { Client, StdioClientTransport, roots: "roots/list" };
}

const { Client, StdioClientTransport, roots } = await (name === "sdk" ? sdk() : split());
const client = new Client({ name: "t", version: "1" }, { capabilities: { roots: {} } });
client.setRequestHandler(roots, async () => ({ roots: [{ uri: pathToFileURL(folder).href }] }));
await client.connect(new StdioClientTransport({ command, args }));
console.log(await converse(client));
await client.close();
