// Does what an agent may with the one-package SDK: node sdk.mjs URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { show, tools } from "./work.mjs";

const client = new Client({ name: "t", version: "1" }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler(ElicitRequestSchema, async () => ({
  action: "accept",
  content: { ok: true },
}));
const changed = new Promise((heard) =>
  client.setNotificationHandler(ToolListChangedNotificationSchema, heard),
);
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
await client.connect(transport);
await tools(client, (name, onprogress) =>
  client.callTool({ name, arguments: {} }, undefined, { onprogress }),
);
show(await client.callTool({ name: "change", arguments: {} }));
await changed;
await transport.terminateSession();
await client.close();
