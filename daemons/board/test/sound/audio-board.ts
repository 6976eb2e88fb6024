/** Encoders and decoders as they are installed, on loopback and without PTP, for end-to-end tests of sound. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { type RunningBoard, startBoard } from '../running-board.ts'
import { readWav, type Sound } from './wav.ts'

/** Why sound cannot be tested here, or false. @param programs further programs that are needed */
export function noSound(...programs: readonly string[]): string | false {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const missing = programs.find((program) => !folders.some((folder) => existsSync(join(folder, program))))
  return missing === undefined ? gstMissing() : `${missing} is not installed`
}

/** Deviations from a board's defaults. */
export interface AudioStart {
  settings?: Readonly<Record<string, string | number | boolean>>
  /** `key=VALUE` texts. */
  sets?: readonly string[]
}

/** An encoder that sends. @param source as audio.source */
export async function startEncoder(
  t: Owner,
  source: string,
  { settings, sets = [] }: AudioStart,
): Promise<RunningBoard> {
  const own = ['board.role=encoder', `audio.source=${JSON.stringify(source)}`, ...sets]
  return await startAudio(t, { settings: { role: 'encoder', ...settings }, sets: own })
}

export interface RunningDecoder extends RunningBoard {
  /** Plays a stream, and checks that the answer says so. */
  route(form: Record<string, string>): Promise<void>
  /** The file it plays into, and its contents. */
  path: string
  recorded(): Sound
  /** Resolves once the file has grown by this many frames. */
  recordsFor(frames: number): Promise<void>
}

/** Approximate header of a WAV file. */
const HEAD_BYTES = 44

/** A decoder that plays into a file of its own, and changes no sample. */
export async function startDecoder(t: Owner, { settings, sets = [] }: AudioStart = {}): Promise<RunningDecoder> {
  const folder = mkdtempSync(join(tmpdir(), 'decoder-file-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'played.wav')
  const own = ['board.role=decoder', `audio.sink=${JSON.stringify(`file:${path}`)}`, ...sets]
  const board = await startAudio(t, { settings: { role: 'decoder', ...settings }, sets: own })
  const channels = Number(settings?.channels ?? 2)
  const frames = () => (existsSync(path) ? Math.floor((statSync(path).size - HEAD_BYTES) / 3 / channels) : 0)
  await board.post('/api/volume_db', { volume_db: '0' })
  await until('the recording has begun', () => frames() > 0)
  return {
    ...board,
    path,
    async route(form) {
      const answer = await board.post('/api/route', form)
      if (answer.status !== 200)
        throw new Error(`the route was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    },
    recorded: () => readWav(path),
    async recordsFor(count) {
      const begin = frames()
      await until(`${count} frames recorded`, () => frames() >= begin + count, (count / 48) * 3 + 15_000)
    },
  }
}

/** A board of either role, set up before its first start, so that it need not restart. */
export async function startAudio(t: Owner, { settings, sets = [] }: AudioStart): Promise<RunningBoard> {
  const stateFolder = mkdtempSync(join(tmpdir(), 'audio-board-'))
  t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  const value = { settings: { sap: false, ...settings }, saves: 1 }
  writeFileSync(join(stateFolder, 'settings.json'), JSON.stringify({ version: 1, value }))
  const own = ['mdns.enabled=false', 'ptp.enabled=false', 'audio.interface=lo', ...sets]
  return await startBoard(t, { stateFolder, sets: own })
}
