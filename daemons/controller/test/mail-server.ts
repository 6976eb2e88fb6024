/** An independent mail server for tests: aiosmtpd from Debian. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Why it is not available on this machine; false if it is. */
export const noMailServer = existsSync('/usr/lib/python3/dist-packages/aiosmtpd')
  ? false
  : 'python3-aiosmtpd is not installed'

/** A letter that was accepted, or a recipient that was refused. */
export interface Taken {
  sender?: string
  to?: string[]
  tls?: boolean
  user?: string | null
  /** As received, with lines ending in \r\n. */
  content?: string
  refused?: string
}

export interface MailServerSettings {
  tls?: 'starttls'
  certificate?: string
  key?: string
  auth?: [string, string]
  /** Replies to each recipient in turn: a reply, or `silence`; 250 after the last. */
  replies?: string[]
}

/** Starts one on a free port of 127.0.0.1; it ends with the test. `taken` is what it has received. */
export async function startMailServer(t: { teardown(run: () => void): void }, settings: MailServerSettings = {}) {
  const script = join(import.meta.dirname, 'peer/smtp-server.py')
  const server = spawn('/usr/bin/python3', [script, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => server.kill('SIGKILL'))
  const taken: Taken[] = []
  const lines = createInterface(server.stdout)
  const ended = once(lines, 'close')
  const port = await new Promise<number>((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`the mail server ended with ${code}`)))
    lines.on('line', (line) => {
      const fact = JSON.parse(line)
      if (fact.port !== undefined) return resolve(fact.port)
      if (fact.content !== undefined) fact.content = Buffer.from(fact.content, 'base64').toString()
      taken.push(fact)
    })
  })
  /** Ends it. @returns all that it received */
  async function finish(): Promise<Taken[]> {
    server.stdin.end()
    await ended
    return taken
  }
  return { port, taken: taken as readonly Taken[], finish }
}
