/** Saved messages on the disk, and texts read aloud by espeak-ng. */
import { spawn } from 'node:child_process'
import { closeSync, constants } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { readBounded } from '#kit/run/named-file.ts'
import { createStore, makeFolder, openPlain, replaceFile } from '#kit/store/store.ts'
import { messageSources, type TalkMessage } from '../core/talk/messages.ts'
import { SPEECH_RATE } from '../wire/wav.ts'

const VERSION = 1 as const
/** Below the state folder: a backup takes it along. */
const FOLDER = 'talk'

const strict = { additionalProperties: false }
const messagesFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    messages: Type.Array(
      Type.Object(
        {
          // Names a file.
          id: Type.String({ pattern: '^[0-9a-f]{8}$' }),
          ...{ name: Type.String(), source: Type.Enum([...messageSources]) },
          text: Type.Union([Type.String(), Type.Null()]),
          ...{ seconds: Type.Number(), createdAt: Type.Integer() },
        },
        strict,
      ),
    ),
  },
  strict,
)

/** The saved messages, saving them, and their sounds. @param folder the state folder @param mostSeconds of a message */
export async function openTalkMessages(folder: string, log: Log, mostSeconds: number) {
  const initial = () => ({ version: VERSION, messages: [] as TalkMessage[] })
  const store = createStore({ folder, name: 'talk-messages', log, check: createReader(messagesFile), initial })
  const { messages: records } = await store.load()
  const fileOf = (id: string) => join(folder, FOLDER, `${id}.s16`)
  return {
    records,
    save: (messages: TalkMessage[]) => store.save({ version: VERSION, messages }),
    sounds: {
      async put(id: string, samples: Int16Array): Promise<void> {
        try {
          await makeFolder(join(folder, FOLDER))
          await replaceFile(fileOf(id), Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength))
        } catch (cause) {
          const { code } = cause as NodeJS.ErrnoException
          throw new Fault('store_write_failed', `The message could not be saved (${code}). Is the disk full?`, {
            cause,
          })
        }
      },
      async get(id: string): Promise<Int16Array> {
        const bytes = readSound(fileOf(id), 2 * SPEECH_RATE * mostSeconds)
        return new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1)
      },
      remove: (id: string) => rm(fileOf(id), { force: true }),
    },
  }
}

/** Little endian, as the processors are that this runs on. */
function readSound(path: string, mostBytes: number): Uint8Array {
  try {
    const descriptor = openPlain(path, constants.O_RDONLY)
    try {
      return Uint8Array.from(readBounded(descriptor, mostBytes))
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    throw new Fault('unknown_message', 'The sound of this message is gone. Delete the message, and save it again.', {
      cause,
    })
  }
}

/** A WAV file of so many seconds at 22 050 samples, and its head. @source espeak-ng 1.51 */
const BYTES_PER_S = 44_100
const HEAD_BYTES = 1024

interface ReadAloudParts {
  clock: Clock
  /** Time for one text. */
  limitMs: number
  /** Of sound. */
  mostSeconds: number
  program?: string
}

/**
 * Reads a text aloud.
 * @returns a WAV file
 * @throws Fault `speech_missing`, `speech_failed`, `bad_sound`
 */
export function createReadAloud({ clock, limitMs, mostSeconds, program = 'espeak-ng' }: ReadAloudParts) {
  // What is longer is refused by its length; reading on would only fill memory.
  const mostBytes = HEAD_BYTES + BYTES_PER_S * (mostSeconds + 1)
  return async (text: string, voice: string): Promise<Uint8Array> => {
    const child = spawn(program, ['--stdin', '--stdout', '-v', voice], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const done = Promise.withResolvers<void>()
    const pieces: Buffer[] = []
    let bytes = 0
    const timer = clock.after(limitMs, () => done.reject(failed('it took too long')))
    child.on('error', (error: NodeJS.ErrnoException) => {
      done.reject(
        error.code === 'ENOENT'
          ? new Fault('speech_missing', 'This machine reads no text aloud: install espeak-ng, or upload a WAV file.')
          : failed(error.code ?? error.message),
      )
    })
    child.stdin.on('error', () => {})
    child.stdout.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes > mostBytes)
        done.reject(new Fault('bad_sound', `Read aloud this text takes more than ${mostSeconds} s.`))
      else pieces.push(piece)
    })
    child.on('close', (code) => (code === 0 ? done.resolve() : done.reject(failed(`it knows no voice ${voice}`))))
    child.stdin.end(text)
    try {
      await done.promise
      return Buffer.concat(pieces)
    } finally {
      timer.cancel()
      child.kill('SIGKILL')
    }
  }
}

function failed(why: string): Fault {
  return new Fault('speech_failed', `espeak-ng did not read the text aloud: ${why}.`)
}
