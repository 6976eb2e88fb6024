/** The gateway of the demo: the same program an installer runs, with its own state folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort, LOOPBACK } from './free-port.ts'
import { NAMED_LINES } from './named-line.ts'

const START_MS = 20_000

export interface GatewayProcess {
  url: string
  /** Resolves when it ends, wanted or not, with what it last said. */
  ended: Promise<string>
  stop(): Promise<void>
}

/** @param listen HOST:PORT; a port that is taken is replaced by a free one */
export async function startGateway(settings: { stateFolder: string; listen: string }): Promise<GatewayProcess> {
  const listen = await withFreePort(settings.listen)
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'plantroom.mjs'),
      'gateway',
      ...['--listen', listen, '--state', settings.stateFolder, '--config', '/dev/null'],
      ...['--set', `ports.allow=["${NAMED_LINES}", "/dev/ttyUSB*", "/dev/ttyACM*", "/dev/serial/by-id/*"]`],
      ...['--set', `modbus_tcp.host=${LOOPBACK}`],
    ],
    // A group of its own: Ctrl-C is for the demo, which stops the gateway in its turn.
    { stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  )
  const said = lastWords(child)
  const ended = once(child, 'exit').then(() => said())
  const url = await Promise.race([listening(child, said), ended.then((text) => Promise.reject(new Error(text)))])
  return {
    url,
    ended,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** As it was, or with port 0. An address that is not here stays: the gateway itself says so. */
async function withFreePort(listen: string): Promise<string> {
  const [, host = '', port = '0'] = /^\[?(.*?)\]?:(\d+)$/.exec(listen) ?? []
  const isFree = (await freePort(host, Number(port))) !== null
  return isFree ? listen : listen.replace(/:\d+$/, ':0')
}

/** Keeps the end of what the gateway prints, for when it fails. */
function lastWords(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(-4000)
    })
  return () => text
}

async function listening(child: ChildProcess, said: () => string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const tooLate = setTimeout(() => reject(new Error(`The gateway did not start within ${START_MS} ms.`)), START_MS)
    function look(): void {
      const url = /listening url=(\S+)/.exec(said())?.[1]
      if (url === undefined) return
      clearTimeout(tooLate)
      resolve(url)
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
  })
}
