/** Modbus peers written by others: libmodbus at one end of a null modem made of two ptys. */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { openPty, type Pty } from '#native/serial/index.ts'

const run = promisify(execFile)

/** Two ptys whose far ends are connected. */
export function nullModem(t: Test): [Pty, Pty] {
  const { ends } = sharedLine(t, 2)
  return ends as [Pty, Pty]
}

/** A line with several ends: what one sends, all others receive. */
export interface SharedLine {
  ends: Pty[]
  /** How many bytes came from each end. */
  said: number[]
  /** Sends to all ends, from none of them. */
  inject(bytes: Uint8Array): void
}

export function sharedLine(t: Test, count: number): SharedLine {
  const ends = Array.from({ length: count }, () => openPty())
  const said = ends.map(() => 0)
  const hear = (bytes: Uint8Array, listeners: Pty[]) => {
    for (const end of listeners) void end.write(bytes).catch(() => {})
  }
  for (const [index, end] of ends.entries())
    end.onBytes((bytes) => {
      said[index] = (said[index] ?? 0) + bytes.length
      hear(
        bytes,
        ends.filter((other) => other !== end),
      )
    })
  t.teardown(() => Promise.all(ends.map((end) => end.close())))
  return { ends, said, inject: (bytes) => hear(bytes, ends) }
}

/** Why libmodbus is not available here; undefined if it is. */
export const noLibmodbus = await run('sh', ['-c', 'command -v cc && pkg-config --exists libmodbus']).then(
  () => undefined,
  () => 'needs cc, pkg-config and libmodbus-dev',
)

/** Compiles a program of this folder. @returns its path; it is removed with the test */
export async function compileLibmodbus(t: Test, name: 'libmodbus-server' | 'libmodbus-client'): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'libmodbus-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const program = join(folder, name)
  const { stdout } = await run('pkg-config', ['--cflags', '--libs', 'libmodbus'])
  const source = join(import.meta.dirname, `${name}.c`)
  await run('cc', ['-Wall', '-Werror', '-o', program, source, ...stdout.trim().split(/\s+/)])
  return program
}

/** Starts a unit with a hundred coils, inputs and registers; register n has the value 3 * n. */
export async function startLibmodbus(t: Test, device: string, unitId: number): Promise<void> {
  await started(t, await compiled(t, 'libmodbus-server.c'), [device, String(unitId)])
}

/** What libmodbus as the master got: values, or its own error message. */
export interface MasterAnswer {
  values?: number[]
  error?: string
}

/** Starts a master. @returns sends a request; the numbers after unit and function are those of libmodbus-master.c */
export async function startLibmodbusMaster(
  t: Test,
  device: string,
  timeoutMs = 1000,
): Promise<(unitId: number, fc: number, ...numbers: number[]) => Promise<MasterAnswer>> {
  const program = await compiled(t, 'libmodbus-master.c')
  const { child, lines } = await started(t, program, [device, String(timeoutMs)])
  return async (...numbers) => {
    child.stdin?.write(`${numbers.join(' ')}\n`)
    const { value } = await lines.next()
    const text = String(value)
    return text.startsWith('=') ? { values: text.split(' ').slice(1).map(Number) } : { error: text.slice(2) }
  }
}

async function compiled(t: Test, source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'libmodbus-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'program')
  const { stdout } = await run('pkg-config', ['--cflags', '--libs', 'libmodbus'])
  const file = join(import.meta.dirname, source)
  await run('cc', ['-Wall', '-Werror', '-o', program, file, ...stdout.trim().split(/\s+/)])
  return program
}

/** Resolves once the program has written its first line, which means that it is ready. */
async function started(t: Test, program: string, words: string[]) {
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => void child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  return { child, lines }
}
