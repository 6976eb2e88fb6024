/** A program on a unix socket that receives requests with descriptors; in Python, since Node cannot receive them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** @returns the path of its socket; ended with the test */
export async function startProgram(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'asked-program-'))
  const path = join(folder, 'socket')
  const child = spawn('python3', [join(import.meta.dirname, 'asked-program.py'), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(async () => {
    child.kill()
    await once(child, 'exit')
    rmSync(folder, { recursive: true })
  })
  await once(child.stdout, 'data')
  return path
}
