// A host of OpenClaw's plugins, as far as a memory plugin sees it: it records what the plugin registers, and calls it.
import plugin from "../../integrations/openclaw/index.js"

const registered = { tools: {} }
plugin.register({
  pluginConfig: JSON.parse(process.argv[2] ?? "{}"),
  registerMemoryCapability: (capability) => Object.assign(registered, capability),
  registerTool: (factory, { names }) => {
    for (const name of names) registered.tools[name] = factory({ agentId: "main" })
  },
})

const { manager } = await registered.runtime.getMemorySearchManager({ cfg: {}, agentId: "main", purpose: "default" })
const call = async (name, params) => (await registered.tools[name].execute("id", params)).details

const found = await manager.search("how are backups restored", { maxResults: 2 })
const gone = new AbortController()
gone.abort()
console.log(
  JSON.stringify({
    plugin: { id: plugin.id, kind: plugin.kind },
    backend: registered.runtime.resolveMemoryBackendConfig({}),
    prompt: registered.promptBuilder({ availableTools: new Set(["memory_search"]) }),
    silent: registered.promptBuilder({ availableTools: new Set() }),
    manager: Object.keys(manager).sort(),
    status: manager.status(),
    embeddings: await manager.probeEmbeddingAvailability(),
    vectors: await manager.probeVectorAvailability(),
    found,
    nothing: await manager.search("how do I bake bread in a clay oven"),
    words: await manager.search("--json backup", { lexicalOnly: true, minScore: 0 }),
    sessions: await manager.search("backup", { sources: ["sessions"] }),
    aborted: await manager.search("backup", { signal: gone.signal }).catch((error) => error.message),
    read: await manager.readFile({ relPath: found[0].path, from: found[0].startLine, lines: 1 }),
    missing: await manager.readFile({ relPath: "qmd://notes/none.md" }),
    outside: await manager.readFile({ relPath: "/etc/hostname" }),
    vault: await manager.search("the vault and the diary of zebrafish", { minScore: 0 }),
    key: await manager.readFile({ relPath: "qmd://notes/vault.md" }),
    diary: await manager.readFile({ relPath: "qmd://notes/diary.md" }),
    tools: Object.fromEntries(Object.entries(registered.tools).map(([name, tool]) => [name, tool.parameters])),
    searched: await call("memory_search", { query: "how are backups restored", maxResults: 1 }),
    got: await call("memory_get", { path: found[0].path, from: 5, lines: 1 }),
  }),
)
