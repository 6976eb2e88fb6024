/** Updates and the machine: the socket of the update service, the file in which it tells, the lock, and SIGUSR2. */
import { readFile, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { LONGEST_TOLD } from '#kit/pure/update-told.ts'
import { createUpdateService } from '#kit/release/update-asking.ts'
import { replaceFile } from '#kit/store/store.ts'
import type { Asked, UpdateDesk } from '../core/updates.ts'

interface DeskParts {
  stateFolder: string
  /** The folder of this program. */
  programs: string
  clock: Clock
  limits: { socket: string; toldFile: string; answerMs: number }
}

/** Who asked for the run under way, in the state folder. */
const ASKED_FILE = 'update-asked.json'

const askedSchema = Type.Object(
  {
    by: Type.Enum(['page', 'signal', 'window']),
    who: Type.String({ maxLength: 256 }),
    begunAt: Type.Integer(),
    logged: Type.Union([
      Type.Object({ at: Type.Integer(), text: Type.String({ maxLength: LONGEST_TOLD }) }),
      Type.Null(),
    ]),
  },
  { additionalProperties: false },
)

export function createUpdateDesk({ clock, limits, programs, stateFolder }: DeskParts): UpdateDesk {
  const file = join(stateFolder, ASKED_FILE)
  let asked: Asked | undefined
  let isRead = false

  return {
    ...createUpdateService({ clock, limits, programs }),
    async asked() {
      if (!isRead) asked = await readAsked(file)
      isRead = true
      return asked
    },
    async keep(next) {
      asked = next
      isRead = true
      // Without it the log ends where the controller is restarted, and nothing else is lost.
      await (next === undefined ? rm(file, { force: true }) : replaceFile(file, JSON.stringify(next))).catch(() => {})
    },
  }
}

async function readAsked(file: string): Promise<Static<typeof askedSchema> | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    return Value.Check(askedSchema, value) ? value : undefined
  } catch {
    return undefined
  }
}

// SIGUSR2 asks for an update; not USR1, which Node reserves. Whoever has the right to send it may as well stop the daemon.

/** Listens from now on, for good: without a listener the signal would end the process. */
export function onUpdateSignal(hear: () => void): void {
  process.on('SIGUSR2', hear)
}

// The updater waits for macros before it restarts the controller.

/** What the controller does for it. */
interface MacroDesk {
  /** How many run, or wait for their turn. */
  living(): number
  /** Keeps more from beginning. @returns ends that */
  hold(): () => void
}

interface QuietParts {
  /** Empty: nobody can ask. */
  path: string
  macros: MacroDesk
  clock: Clock
  holdMs: number
}

/** Only root and this user reach the folder, and root asks once at a time. */
const MOST_ASKING = 4
const LOOK_MS = 100

/**
 * Tells each connection `busy` while macros run, and `quiet` once none does; from then on none begins until the connection
 * ends, for `holdMs` at most. It is only written to: root says nothing to a socket that is not its own.
 */
export function createQuietSocket({ clock, holdMs, macros, path }: QuietParts) {
  let server: Server | undefined
  const asking = new Set<Socket>()

  function hear(socket: Socket): void {
    asking.add(socket)
    const timers: Timer[] = []
    let release: (() => void) | undefined
    let isTold = false
    function look(): void {
      if (release !== undefined) return
      if (macros.living() > 0) {
        if (!isTold) socket.write('busy\n')
        isTold = true
        return
      }
      release = macros.hold()
      socket.write('quiet\n')
      timers.push(clock.after(holdMs, () => socket.destroy()))
    }
    timers.push(clock.every(LOOK_MS, look))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      asking.delete(socket)
      for (const timer of timers) timer.cancel()
      release?.()
    })
    socket.resume()
    look()
  }

  return {
    async start(): Promise<void> {
      if (path === '') return
      // Left by one that was killed.
      await rm(path, { force: true })
      server = createServer((socket) => void (asking.size < MOST_ASKING ? hear(socket) : socket.destroy()))
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      server.once('error', (cause) =>
        reject(new Fault('update_quiet_failed', `updating.quiet_socket ${path} cannot be opened`, { cause })),
      )
      server.listen(path, resolve)
      await promise
    },
    stop(): void {
      for (const socket of asking) socket.destroy()
      server?.close()
    },
  }
}
