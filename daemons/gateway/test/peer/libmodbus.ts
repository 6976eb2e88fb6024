/** A Modbus unit nobody here wrote: libmodbus on one end of a null modem made of two ptys. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
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

/**
 * Starts a unit with a hundred coils, inputs and registers; register n holds 3 * n.
 * @returns false where there is no compiler or no libmodbus; a server that does not compile is an error
 */
export async function startLibmodbus(t: Test, device: string, unitId: number): Promise<boolean> {
  if (!['/usr/bin/cc', '/usr/include/modbus/modbus.h'].every((path) => existsSync(path))) return false
  const folder = mkdtempSync(join(tmpdir(), 'libmodbus-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'server')
  const source = join(import.meta.dirname, 'libmodbus-server.c')
  await run('cc', ['-Wall', '-Werror', '-I/usr/include/modbus', '-o', program, source, '-lmodbus'])
  const server = spawn(program, [device, String(unitId)], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => void server.kill())
  await once(createInterface(server.stdout), 'line')
  return true
}
