/** A Modbus TCP server written by others: libmodbus, compiled for the test. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '#kit/test/free-port.ts'
import type { Owner } from '#kit/test/running-daemon.ts'

const run = promisify(execFile)

/** @returns its port; register n has the value 3 * n, and every third coil is on */
export async function startLibmodbusTcp(t: Owner): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'libmodbus-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'server')
  const { stdout } = await run('pkg-config', ['--cflags', '--libs', 'libmodbus'])
  const source = join(import.meta.dirname, 'libmodbus-tcp-server.c')
  await run('cc', ['-Wall', '-Werror', '-o', program, source, ...stdout.trim().split(/\s+/)])
  const port = await freePort()
  const child = spawn(program, [String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => void child.kill())
  await once(child.stdout, 'data')
  return port
}
