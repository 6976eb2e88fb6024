/** The update service of this machine, as a daemon that is not root sees it: a socket to ask, and a file in which it tells. */
import { constants, existsSync, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { connect } from 'node:net'
import { Value } from 'typebox/value'
import type { Clock } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import { TOLD_BYTES, toldSchema, type UpdateTold } from '../pure/update-told.ts'
import { placeOf, sentenceOfPlace, type UpdatePlace } from './place.ts'
import { isUpdating } from './update-lock.ts'

/** The longest answer of the service. */
const ANSWER_BYTES = 1024

/** The update service, for the program that is updated by it. */
export interface UpdateService {
  /** Why this Plantroom is not updated by its own updater; undefined where it is. */
  foreign(): Promise<{ kind: 'debian' | 'other'; sentence: string } | undefined>
  /** Whether there is an update service to ask. */
  canAsk(): boolean
  /** What the updater has told; undefined if nothing. */
  told(): Promise<UpdateTold | undefined>
  /** Whether an update, or a look for one, is running; it may have been started by hand. */
  isRunning(): Promise<boolean>
  /** Asks by one word. @returns the line that it answers. @throws Fault `update_unreachable` */
  ask(task: UpdateTask): Promise<string>
}

/** What the service is asked for: to look, to apply what the server has, or the file that was carried here. */
export type UpdateTask = 'check' | 'apply' | 'handed'

interface ServiceParts {
  clock: Clock
  /** The folder of this program. */
  programs: string
  limits: { socket: string; toldFile: string; answerMs: number }
}

export function createUpdateService({ clock, limits, programs }: ServiceParts): UpdateService {
  let place: UpdatePlace | undefined

  async function placeHere(): Promise<UpdatePlace> {
    place ??= await placeOf(programs, process.env)
    return place
  }

  return {
    async foreign() {
      const here = await placeHere()
      return here.kind === 'release' ? undefined : { kind: here.kind, sentence: sentenceOfPlace(here) }
    },
    canAsk: () => existsSync(limits.socket),
    told: createToldReader(limits.toldFile),
    async isRunning() {
      const here = await placeHere()
      return here.kind === 'release' && (await isUpdating(here.root))
    },
    ask: (task) => askUpdater(task, { clock, ...limits }),
  }
}

/** Reads the file again only if it has changed. What cannot be read leaves what was read before. */
function createToldReader(path: string): () => Promise<UpdateTold | undefined> {
  let seen = ''
  let told: UpdateTold | undefined

  return async () => {
    try {
      // A pipe there would hold a thread for ever.
      await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
      const stats = await file.stat()
      if (markOf(stats) === seen || stats.size > TOLD_BYTES || !stats.isFile()) return told
      const value: unknown = JSON.parse(await file.readFile('utf8'))
      if (!Value.Check(toldSchema, value)) return told
      told = value
      seen = markOf(stats)
    } catch {}
    return told
  }
}

/** It is replaced, never written in place. */
function markOf({ ino, mtimeMs, size }: Stats): string {
  return `${ino} ${mtimeMs} ${size}`
}

/** @throws Fault `update_unreachable` */
async function askUpdater(
  task: UpdateTask,
  { answerMs, clock, socket: path }: { answerMs: number; clock: Clock; socket: string },
): Promise<string> {
  const socket = connect({ path })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const refuse = (what: string, cause?: unknown) =>
    reject(
      new Fault(
        'update_unreachable',
        `the update service of this machine ${what}: look at systemctl status plantroom-update.socket plantroom-update-asked.service`,
        { cause },
      ),
    )
  const late = clock.after(answerMs, () => refuse(`has not answered within ${answerMs} ms`))
  let text = ''
  socket.on('error', (cause: NodeJS.ErrnoException) => refuse(`cannot be asked (${cause.code})`, cause))
  socket.on('close', () => refuse('gave no answer'))
  socket.setEncoding('utf8').on('data', (piece) => {
    text += piece
    const [line, end] = text.split('\n')
    if (end !== undefined) resolve(line ?? '')
    else if (text.length > ANSWER_BYTES) refuse('gave an answer that is too long')
  })
  socket.write(`${task}\n`)
  try {
    return await promise
  } finally {
    late.cancel()
    socket.destroy()
  }
}
