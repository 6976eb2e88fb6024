/**
 * Stands for systemd in the folder of an installation: runs its one daemon, and a `systemctl` that is found before the
 * machine's own asks here.
 */
import { once } from 'node:events'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type DaemonProcess, startProgram } from './daemon-process.ts'
import type { Undo } from './undo.ts'

export interface OwnSystemd {
  /** For PATH. */
  programs: string
  start(): Promise<DaemonProcess>
  /** How long the daemon was away at its last restart. */
  awayMs(): number
}

interface Unit {
  /** For the socket and the program. */
  folder: string
  daemon: string
  /** The program `plantroom` of the release that runs. */
  file: string
  env: NodeJS.ProcessEnv
}

export async function openSystemd(unit: Unit, undo: Undo): Promise<OwnSystemd> {
  const programs = join(unit.folder, 'bin')
  const socket = join(unit.folder, 'systemd.sock')
  await mkdir(programs, { recursive: true })
  await writeFile(join(programs, 'systemctl.mjs'), systemctlText(socket))
  await writeFile(join(programs, 'systemctl'), `#!/bin/sh\nexec '${process.execPath}' "\${0}.mjs" "$@"\n`)
  await chmod(join(programs, 'systemctl'), 0o755)
  const name = `plantroom-${unit.daemon}.service`
  let running: DaemonProcess | undefined
  let sinceUs = 0n
  let awayMs = 0

  async function start(): Promise<DaemonProcess> {
    const { daemon, env, file } = unit
    const begun = await startProgram({ name: daemon, file, words: [daemon], env }, undo)
    running = begun
    sinceUs = process.hrtime.bigint() / 1000n
    void begun.ended.then(() => {
      if (running === begun) running = undefined
    })
    return begun
  }

  async function answer([verb = '', ...words]: readonly string[]): Promise<string> {
    const isOurs = words.includes(name)
    const state = isOurs && running ? 'active' : 'inactive'
    if (verb === 'is-active') return state
    if (verb === 'show' && words.includes('--value')) return words.includes('--property=NRestarts') ? '0' : 'exit-code'
    if (verb === 'show')
      return `LoadState=${isOurs ? 'loaded' : 'not-found'}\nActiveState=${state}\nUnitFileState=enabled\nActiveEnterTimestampMonotonic=${sinceUs}`
    if (!isOurs) return ''
    const begunMs = performance.now()
    await running?.stop()
    if (verb === 'restart') await start()
    awayMs = performance.now() - begunMs
    return ''
  }

  const server = createServer({ allowHalfOpen: true }, (asking) => {
    let text = ''
    asking.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    asking.on('error', () => asking.destroy())
    asking.on('end', () =>
      answer(text.split('\n')).then(
        (said) => asking.end(`${said}\n`),
        () => asking.destroy(),
      ),
    )
  })
  server.listen(socket)
  await once(server, 'listening')
  undo.push(() => void server.close())
  return { programs, start, awayMs: () => awayMs }
}

/** Asks, and fails where nothing is answered. */
function systemctlText(socket: string): string {
  return `import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
const socket = connect({ path: ${JSON.stringify(socket)}, allowHalfOpen: true })
socket.end(process.argv.slice(2).join('\\n'))
const said = await text(socket)
process.stdout.write(said)
process.exitCode = said === '' ? 1 : 0
`
}
