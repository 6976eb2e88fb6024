/** The load on HTTP servers: http-bench.cc. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { compileHarness } from './line-harness.ts'

/** What came of a command. Times in milliseconds, from when a request was due to its whole answer. */
export interface Loaded {
  seconds: number
  answered: number
  /** Answers other than 200. */
  refused: number
  /** Connections that ended without an answer. */
  failed: number
  bytes: number
  p50: number
  p99: number
  max: number
}

export interface HttpLoad {
  /** Sends one command (see the program); throws if the program refuses it. */
  run(command: string): Promise<Loaded>
  stop(): void
}

export function startLoad(root: string): HttpLoad {
  const child = spawn(compileHarness(root, 'http-bench'), { stdio: ['pipe', 'pipe', 'inherit'] })
  const output = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async run(command) {
      child.stdin.write(`${command}\n`)
      const { value = '{"error":"it has ended"}' } = await output.next()
      const loaded = JSON.parse(value)
      if (loaded.error) throw new Error(`http-bench ${command}: ${loaded.error}`)
      return loaded
    },
    stop: () => child.stdin.end(),
  }
}
