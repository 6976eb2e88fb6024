/** A Modbus unit nobody here wrote: libmodbus on one end of a null modem made of two ptys. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { openPty, type Pty } from '#native/serial/index.ts'

const run = promisify(execFile)

/** Two ptys whose far ends are tied together. */
export function nullModem(t: Test): [Pty, Pty] {
  const ends: [Pty, Pty] = [openPty(), openPty()]
  ends[0].onBytes((bytes) => void ends[1].write(bytes).catch(() => {}))
  ends[1].onBytes((bytes) => void ends[0].write(bytes).catch(() => {}))
  t.teardown(() => Promise.all(ends.map((end) => end.close())))
  return ends
}

/** Why there is no libmodbus here; undefined where there is one. */
export const noLibmodbus = await run('sh', ['-c', 'command -v cc && pkg-config --exists libmodbus']).then(
  () => undefined,
  () => 'needs cc, pkg-config and libmodbus-dev',
)

/** Compiles a program of this folder. @returns its path; gone with the test */
export async function compileLibmodbus(t: Test, name: 'libmodbus-server' | 'libmodbus-client'): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'libmodbus-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const program = join(folder, name)
  const { stdout } = await run('pkg-config', ['--cflags', '--libs', 'libmodbus'])
  const source = join(import.meta.dirname, `${name}.c`)
  await run('cc', ['-Wall', '-Werror', '-o', program, source, ...stdout.trim().split(/\s+/)])
  return program
}

/** Starts a unit with a hundred coils, inputs and registers; register n holds 3 * n. */
export async function startLibmodbus(t: Test, device: string, unitId: number): Promise<void> {
  const program = await compileLibmodbus(t, 'libmodbus-server')
  const server = spawn(program, [device, String(unitId)], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => void server.kill())
  await once(createInterface(server.stdout), 'line')
}
