/** A KNX bus without wires: Debian's knxd as the interface, and its own tool that plays the devices. */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '#kit/test/free-port.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'

const run = promisify(execFile)

export async function startKnxBus(t: Owner) {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'knx-'))
  const at = `local:${join(folder, 'bus')}`
  const children = [begin()]
  t.teardown(() => {
    for (const child of children) child.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  function begin() {
    const words = [
      '-e',
      '1.0.1',
      '-E',
      '1.0.2:8',
      '-u',
      join(folder, 'bus'),
      '-T',
      '-S',
      `224.0.23.12:${port}`,
      '-b',
      'dummy:',
    ]
    return spawn('/usr/bin/knxd', words, { stdio: 'ignore' })
  }

  const tool = (...words: string[]) => run('/usr/bin/knxtool', words)
  let heard = ''
  await until('the bus is there', () =>
    tool('groupswrite', at, '31/7/254', '0').then(
      () => true,
      () => false,
    ),
  )
  const listener = spawn('/usr/bin/knxtool', ['groupsocketlisten', at], { stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(listener)
  listener.stdout.setEncoding('utf8').on('data', (text) => {
    heard += text
  })
  await until('the listener hears', async () => {
    await tool('groupswrite', at, '31/7/255', '0')
    return heard.includes('31/7/255')
  })
  return {
    port,
    /** Lines of knxtool: `Write from 1.0.3 to 1/1/1: 01`. */
    heard: () => heard,
    /** A telegram of a device: up to six bits, or bytes in hex. */
    write: (group: string, ...bytes: string[]) =>
      tool(bytes.length > 1 || (bytes[0]?.length ?? 0) > 1 ? 'groupwrite' : 'groupswrite', at, group, ...bytes),
    /** The answer of a device to a question, up to six bits. */
    respond: (group: string, bits: string) => tool('groupsresponse', at, group, bits),
    stop: () => children[0]?.kill(),
    start: () => {
      children[0] = begin()
    },
  }
}
