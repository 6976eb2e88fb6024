/**
 * `plantroom demo`: controller, gateway, recorder and five boards with simulated hardware: pseudo terminals, cameras, and
 * sound on loopback; then an update from one release to the next.
 */
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { buildScene } from './demo/scene.ts'
import { createUndo, type Undo } from './demo/undo.ts'
import { showUpdates } from './demo/update-show.ts'
import { sceneWords } from './demo/words.ts'

const HELP = `Usage: plantroom demo [--listen HOST:PORT]

Starts the controller, the gateway, the recorder and five boards with simulated devices, and shows an update, until Ctrl-C.
Nothing is kept.
  --listen HOST:PORT   where the gateway's page is, 127.0.0.1:3132 unless told; a port that is taken is replaced by a free one
Exit codes: 0 stopped by you, 1 a daemon failed, 2 wrong usage
`

async function run(argv: readonly string[]): Promise<number> {
  const listen = listenOf(argv)
  if (listen === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  if (listen === undefined) {
    process.stderr.write(`plantroom demo takes only --listen HOST:PORT.\n\n${HELP}`)
    return 2
  }
  const undo = createUndo()
  let isOver = false
  const told = toldToStop(undo)
  try {
    process.stdout.write('Starting the controller, the gateway, the recorder and five boards ...\n')
    const building = buildScene(listen, undo)
    // What is still starting when the demo is stopped fails, and nobody waits for it.
    building.catch(() => {})
    const scene = await Promise.race([told, building])
    if (scene === 'stop') return stopping()
    process.stdout.write(sceneWords(scene))
    // In the background: nobody waits for it to see the rest.
    showUpdates({ say: (text) => void process.stdout.write(text), pressed: pressedKey() }, undo).catch(
      (error) => isOver || process.stderr.write(`No update can be shown: ${error.message}\n`),
    )
    const { boards, building: controller, gateway, lobby, recorder } = scene
    const ends = [
      gateway,
      controller,
      recorder,
      boards.till,
      boards.counter,
      lobby.music,
      lobby.ceiling,
      lobby.kiosk,
    ].map(({ ended }) => ended)
    const end = await Promise.race([told, ...ends])
    if (end === 'stop') return stopping()
    process.stderr.write(`A daemon ended by itself:\n${end}\n`)
    return 1
  } catch (error) {
    process.stderr.write(`The demo could not start: ${error instanceof Error ? error.message : error}\n`)
    return 1
  } finally {
    isOver = true
    await undo.run()
  }
}

/** Waits for Enter; undefined where nobody can press it. */
function pressedKey(): (() => Promise<unknown>) | undefined {
  return process.stdin.isTTY ? () => once(process.stdin, 'data') : undefined
}

function stopping(): number {
  process.stdout.write('\nStopping.\n')
  return 0
}

function listenOf(argv: readonly string[]): string | undefined {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { listen: { type: 'string' }, help: { type: 'boolean' } },
    })
    if (values.help) return 'help'
    return values.listen ?? '127.0.0.1:3132'
  } catch {
    return undefined // an unknown option: the help says which there are
  }
}

/**
 * Resolves at the first Ctrl-C or SIGTERM, or when the reader of its output is gone; a second one ends the process at
 * once.
 */
function toldToStop(undo: Undo): Promise<'stop'> {
  return new Promise((resolve) => {
    let isTold = false
    const stop = () => {
      if (isTold) process.exit(1)
      isTold = true
      resolve('stop')
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, stop)
      undo.push(() => process.off(signal, stop))
    }
    // The reader is gone: `plantroom demo | head`. Without a handler only this process would end.
    process.stdout.on('error', () => resolve('stop'))
  })
}

export default { run }
