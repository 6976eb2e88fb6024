/** The measuring program (line-bench.cc): compiled once, one process and one pty for each bridge under test. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** What one measurement gives: times in microseconds, or megabytes a second, or why there is no number. */
export interface Measured {
  p50?: number
  p99?: number
  mbps?: number
  error?: string
}

export interface LineHarness {
  /** Device end of its pty. */
  device: string
  /** Sends one command (see line-bench.cc) and resolves to the answer. */
  measure(command: string): Promise<Measured>
  stop(): void
}

/** Compiles the program where its source is newer. @returns its path */
export function compileHarness(root: string): string {
  const source = join(root, 'scripts/bench/line-bench.cc')
  const binary = join(root, 'build/bench/line-bench')
  if (!existsSync(binary) || statSync(binary).mtimeMs < statSync(source).mtimeMs) {
    mkdirSync(join(root, 'build/bench'), { recursive: true })
    execFileSync('g++', ['-O2', '-std=c++20', source, '-o', binary, '-lutil', '-lpthread'], { stdio: 'inherit' })
  }
  return binary
}

/** Starts it and waits for the name of its pty. */
export async function startHarness(binary: string): Promise<LineHarness> {
  const child = spawn(binary, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('line-bench has ended')
    return value
  }
  return {
    device: await nextLine(),
    async measure(command) {
      child.stdin.write(`${command}\n`)
      return JSON.parse(await nextLine())
    },
    stop: () => child.stdin.end(),
  }
}
