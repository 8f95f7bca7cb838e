// Gives passages of your notes to the agent if they answer a prompt. Installed by `qmd hook install`.
import { spawn } from "node:child_process"

const command = __COMMAND__
const options = __OPTIONS__

function run(event, input) {
  return new Promise((resolve) => {
    const [program, ...words] = [...command, "hook", "run", event, "--target", "opencode", ...options[event]]
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: 5000, cwd: input.cwd })
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => (text += piece))
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => {})
    child.on("close", () => {
      try {
        resolve(JSON.parse(text).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify(input))
  })
}

export const QmdPlugin = async ({ directory }) => {
  const input = (sessionID, more) => ({ session_id: sessionID ?? "", cwd: directory, ...more })
  const briefings = new Map()
  return {
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!briefings.has(sessionID)) briefings.set(sessionID, await run("session", input(sessionID)))
      if (briefings.get(sessionID)) output.system.push(briefings.get(sessionID))
    },
    "chat.message": async ({ sessionID, messageID }, output) => {
      const prompt = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      const text = await run("prompt", input(sessionID, { prompt: prompt.join("\n") }))
      if (!text) return
      const message = { sessionID, messageID: output.message?.id ?? messageID }
      output.parts.push({ id: `prt_qmd${Date.now()}`, type: "text", synthetic: true, text, ...message })
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await run("compact", input(sessionID))
    },
  }
}
