// Does what an agent may with the SDK's client package: node client.mjs URL
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { tools } from "./work.mjs";

const client = new Client({ name: "t", version: "1" }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler("elicitation/create", async () => ({
  action: "accept",
  content: { ok: true },
}));
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
await tools(client, (name, onprogress) => client.callTool({ name, arguments: {} }, { onprogress }));
await client.close();
