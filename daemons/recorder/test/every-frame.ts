/** Records cameras whose pictures are numbered, and compares what came with what a decoder finds in the files. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { type Client, clientOf } from './client.ts'
import { program } from './judge.ts'
import { FPS, type Mishap, makeNumberedFilm, numbersIn, startNumberedCamera } from './numbered-camera.ts'

interface Course {
  cameras: number
  seconds: number
  /** Of the picture with a number, of a camera. */
  mishap(camera: number, number: number): Mishap | undefined
  settings?: readonly string[]
  /** Adds more to the recorder. @param pid of the recorder @returns what is looked at once all was sent */
  beside?(boss: Client, pid: number): Promise<() => Promise<void>>
}

/** Every picture that came is in the files once and in order. */
export async function recordsEveryFrame(
  t: Test,
  { beside, cameras, mishap, seconds, settings = [] }: Course,
): Promise<void> {
  const work = stateFolderOf(t)
  const films = [
    makeNumberedFilm(work, { seconds, height: 192 }),
    makeNumberedFilm(work, { seconds, height: 160 }),
  ] as const
  const changeAt = Math.floor(seconds / 2) * FPS
  const stateFolder = join(work, 'state')
  const sets = ['storage.file_s=5', 'storage.free_bytes=0', 'cameras.retry_first_ms=100', ...settings]
  const recorder = await startDaemon(t, 'recorder', { stateFolder, sets })
  const boss = clientOf(recorder.url)
  await boss.setUp()
  const look = await beside?.(boss, recorder.pid)
  const sent = await Promise.all(
    Array.from({ length: cameras }, async (_, at) => {
      const camera = await startNumberedCamera(t, { films, changeAt, mishap: (number) => mishap(at, number) })
      const added = await boss.call('POST', '/api/discovery/rtsp', { name: `Camera ${at}`, url: camera.url })
      return { camera, id: added.body.id as string }
    }),
  )
  await Promise.all(sent.map(({ camera }) => camera.over))
  await look?.()
  t.equal(await recorder.stop(), 0)
  for (const [at, { camera, id }] of sent.entries()) {
    const files = globSync(`${stateFolder}-footage/${id}/*/*.mp4`).toSorted()
    const numbers = (await Promise.all(files.map(numbersIn))).flat()
    t.ok(camera.came.length > FPS, `camera ${at} sent ${camera.came.length} pictures`)
    t.same(numbers, camera.came, `camera ${at}: each picture that came is there once and in order`)
    t.equal(await countOf(files), numbers.length, 'and ffprobe counts as many')
  }
}

async function countOf(files: readonly string[]): Promise<number> {
  let count = 0
  for (const file of files) {
    const wants = ['-count_packets', '-show_entries', 'stream=nb_read_packets', '-of', 'csv=p=0']
    const { stderr, stdout } = await program('ffprobe', ['-v', 'error', ...wants, file])
    if (stderr !== '') throw new Error(stderr)
    count += Number(stdout.trim())
  }
  return count
}
