/** The update service of this machine, as a daemon that is not root sees it: a socket to ask, and a file in which it tells. */
import { constants, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { connect } from 'node:net'
import { Value } from 'typebox/value'
import type { Clock } from '../clock.ts'
import { Fault } from '../pure/fault.ts'
import { TOLD_BYTES, toldSchema, type UpdateTold } from '../pure/update-told.ts'

/** The longest answer of the service. */
const ANSWER_BYTES = 1024

/** Reads the file again only if it has changed. What cannot be read leaves what was read before. */
export function createToldReader(path: string): () => Promise<UpdateTold | undefined> {
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

/** Asks by one word. @returns the line that it answers. @throws Fault `update_unreachable` */
export async function askUpdater(
  task: 'check' | 'apply' | 'handed',
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
