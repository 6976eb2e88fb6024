/** The measuring programs (line-bench.cc, load-bench.cc, http-bench.cc), compiled once, and those that own ptys. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Results of one measurement, by name: times in microseconds, rates, counts; or why there is none. */
export type Measured = Record<string, number> & { error?: string }

export interface Harness {
  /** Device ends of its ptys. */
  devices: string[]
  /** Sends one command (see the program) and resolves to the answer. */
  measure(command: string): Promise<Measured>
  stop(): void
}

/** Compiles the program if a source is newer. @returns its path */
export function compileHarness(root: string, name: 'line-bench' | 'load-bench' | 'http-bench'): string {
  const folder = join(root, 'scripts/bench')
  const source = join(folder, `${name}.cc`)
  const parts = readdirSync(folder).filter((file) => file.startsWith(name) && /\.(?:cc|h)$/.test(file))
  const newestMs = Math.max(...parts.map((file) => statSync(join(folder, file)).mtimeMs))
  const binary = join(root, 'build/bench', name)
  if (!existsSync(binary) || statSync(binary).mtimeMs < newestMs) {
    mkdirSync(join(root, 'build/bench'), { recursive: true })
    execFileSync('g++', ['-O2', '-std=c++20', source, '-o', binary, '-lutil', '-lpthread'], { stdio: 'inherit' })
  }
  return binary
}

/** Starts it and waits for the names of its ptys. */
export async function startHarness(binary: string, lines = 1): Promise<Harness> {
  const child = spawn(binary, [String(lines)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const output = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { value, done } = await output.next()
    if (done) throw new Error(`${binary} has ended`)
    return value
  }
  const devices: string[] = []
  while (devices.length < lines) devices.push(await nextLine())
  return {
    devices,
    async measure(command) {
      child.stdin.write(`${command}\n`)
      return JSON.parse(await nextLine())
    },
    stop: () => child.stdin.end(),
  }
}
