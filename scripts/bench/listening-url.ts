/** The address a measured daemon listens on, from its log. */
import type { ChildProcess } from 'node:child_process'

const START_MS = 20_000
const STEP_MS = 20

/** @throws Error with the daemon's output if it does not start */
export async function listeningUrl(name: string, child: ChildProcess): Promise<string> {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()))
  for (let waitedMs = 0; waitedMs < START_MS && child.exitCode === null; waitedMs += STEP_MS) {
    const [, url] = /listening url=(\S+)/.exec(said) ?? []
    if (url !== undefined) return url
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
  throw new Error(`the ${name} did not start:\n${said}`)
}
