// What both clients do: list tools, call some, print what comes.
export const show = (value) => console.log(JSON.stringify(value));

export async function tools(client, slowly) {
  show((await client.listTools()).tools.length);
  show(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } }));
  show(await client.callTool({ name: "boom", arguments: {} }));
  show(await slowly("slowly", (progress) => show(progress)));
  show(await client.callTool({ name: "decide", arguments: {} }));
}
