/** Saved messages: what cameras can be told to say. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { readWav, SPEECH_RATE, speechOf } from '../../wire/wav.ts'

export const messageSources = ['file', 'speech'] as const

/** A saved message. Never changed in place. */
export interface TalkMessage {
  readonly id: string
  readonly name: string
  readonly source: (typeof messageSources)[number]
  /** What is read aloud; null of a file. */
  readonly text: string | null
  readonly seconds: number
  readonly createdAt: number
}

interface MessageParts {
  clock: Clock
  records: readonly TalkMessage[]
  /** Resolves once they are on disk. */
  save(records: TalkMessage[]): Promise<void>
  sounds: {
    /** @throws Fault `store_write_failed` */
    put(id: string, samples: Int16Array): Promise<void>
    /** @throws Fault `unknown_message` where the file is gone */
    get(id: string): Promise<Int16Array>
    remove(id: string): Promise<void>
  }
  /** Reads a text aloud. @returns a WAV file @throws Fault `speech_missing`, `speech_failed` */
  readAloud(text: string, voice: string): Promise<Uint8Array>
  newId(): string
  /** Lets others work. */
  breathe(): Promise<void>
  limits: { messages: number; seconds: number }
}

export interface TalkMessages {
  list(): readonly TalkMessage[]
  /** @throws Fault `unknown_message` */
  require(id: string): TalkMessage
  /** Its samples, 8000 a second. @throws Fault `unknown_message` */
  soundOf(id: string): Promise<Int16Array>
  /** @param wav the file @throws Fault `bad_sound`, `too_many_messages`, `store_write_failed` */
  addFile(name: string, wav: Uint8Array): Promise<TalkMessage>
  /** @throws Fault as `addFile`, and `speech_missing`, `speech_failed` */
  addSpeech(name: string, text: string, voice: string): Promise<TalkMessage>
  /** @throws Fault `unknown_message`, `store_write_failed` */
  remove(id: string): Promise<TalkMessage>
}

export function createTalkMessages(parts: MessageParts): TalkMessages {
  const { clock, limits, save, sounds } = parts
  let known = parts.records
  const inTurn = createSerialTurn()

  function required(id: string): TalkMessage {
    const found = known.find((one) => one.id === id)
    if (!found)
      throw new Fault('unknown_message', 'There is no message with this id. GET /api/talk/messages lists them.')
    return found
  }

  function requireRoom(): void {
    if (known.length >= limits.messages)
      throw new Fault(
        'too_many_messages',
        `There are ${known.length} messages; talk.messages allows ${limits.messages}.`,
      )
  }

  async function add(about: Pick<TalkMessage, 'name' | 'source' | 'text'>, wav: Uint8Array): Promise<TalkMessage> {
    const samples = await samplesOf(wav, limits.seconds, parts.breathe)
    const message = { ...about, id: unusedId(), seconds: samples.length / SPEECH_RATE, createdAt: clock.epochMs() }
    await sounds.put(message.id, samples)
    const next = [...known, message]
    await save(next)
    known = next
    return message
  }

  function unusedId(): string {
    const id = parts.newId()
    return known.some((one) => one.id === id) ? unusedId() : id
  }

  return {
    list: () => known,
    require: required,
    soundOf: async (id) => await sounds.get(required(id).id),
    addFile: (name, wav) =>
      inTurn(async () => {
        requireRoom()
        return await add({ name, source: 'file', text: null }, wav)
      }),
    addSpeech: (name, text, voice) =>
      inTurn(async () => {
        requireRoom()
        return await add({ name, source: 'speech', text }, await parts.readAloud(text, voice))
      }),
    remove: (id) =>
      inTurn(async () => {
        const gone = required(id)
        const next = known.filter((one) => one !== gone)
        await save(next)
        known = next
        await sounds.remove(id)
        return gone
      }),
  }
}

/** @throws Fault `bad_sound` */
async function samplesOf(bytes: Uint8Array, mostSeconds: number, breathe: () => Promise<void>): Promise<Int16Array> {
  const wav = readWav(bytes)
  if (wav.seconds > mostSeconds)
    throw new Fault(
      'bad_sound',
      `This sound takes ${Math.ceil(wav.seconds)} s; talk.message_s allows ${mostSeconds} s.`,
    )
  const samples = new Int16Array(Math.floor(wav.seconds * SPEECH_RATE))
  if (samples.length === 0) throw new Fault('bad_sound', 'This sound is empty.')
  let at = 0
  for (const piece of speechOf(wav)) {
    samples.set(piece, at)
    at += piece.length
    await breathe()
  }
  return samples
}
