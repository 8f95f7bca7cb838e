// A conversation with a server by the TypeScript SDK, printed as JSON.
//
//     node client.mjs < '{"packages": FOLDER, "sdk": "v1" | "v2", "server": {...}, "calls": {tool: arguments},
//                         "uri": URI, "prompt": NAME}'
//
// `server` is what an agent's settings hold: {command, args, env} or {url}. The packages need not lie above this
// file.
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';

const asked = JSON.parse(await text(process.stdin));
const load = createRequire(`${asked.packages}/`);

const sdks = {
  v1: () => ({
    ...load('@modelcontextprotocol/sdk/client/index.js'),
    ...load('@modelcontextprotocol/sdk/client/stdio.js'),
    ...load('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  }),
  v2: () => ({ ...load('@modelcontextprotocol/client'), ...load('@modelcontextprotocol/client/stdio') }),
};
const { Client, StdioClientTransport, StreamableHTTPClientTransport } = sdks[asked.sdk]();
const transport = asked.server.url
  ? new StreamableHTTPClientTransport(new URL(asked.server.url))
  : new StdioClientTransport(asked.server);

const client = new Client({ name: 'judge', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(transport);
const told = {
  server: client.getServerVersion(),
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools,
  calls: {},
};
for (const [name, given] of Object.entries(asked.calls)) {
  // The SDK holds structured content against the tool's output schema.
  told.calls[name] = await client.callTool({ name, arguments: given });
}
told.resource = await client.readResource({ uri: asked.uri });
told.prompt = await client.getPrompt({ name: asked.prompt });
told.unknown = await client.callTool({ name: 'no such tool', arguments: {} }).catch((error) => error.code);
await client.close();
console.log(JSON.stringify(told));
