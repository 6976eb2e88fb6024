/** A recorder, a camera whose pictures count themselves, and a browser on the recorder's pages. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { type RunningDaemon, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { openRig, type Rig } from '#kit/test/web/page-rig.ts'
import { LONG_MS, startCamera } from './camera.ts'
import { BITS, BLOCK, FPS, makeCountingFilm } from './counting-film.ts'

export const cameraUser = { username: 'camera', password: 'se:cret' }

/** What a test of the pages needs. */
export interface Stage extends Rig {
  recorder: RunningDaemon
  camera: Awaited<ReturnType<typeof startCamera>>
}

/** Builds the stage; everything ends with the test. */
export async function openStage(t: Test): Promise<Stage> {
  const work = stateFolderOf(t)
  const camera = await startCamera(t, await makeCountingFilm(work, 180), cameraUser)
  const sets = [
    'storage.file_s=600',
    'storage.free_bytes=0',
    'cameras.silent_ms=2000',
    'cameras.retry_first_ms=200',
    'live.streams=3',
  ]
  const recorder = await startDaemon(t, 'recorder', { stateFolder: join(work, 'state'), sets })
  // A socket that is refused, as the page then says.
  const wanted = /handshake: Unexpected response code: (401|404|429)/
  const rig = await openRig(t, recorder.url, { pictures: 'recorder', wanted })
  return { ...rig, recorder, camera }
}

/**
 * Reads the number that the first video shows, in the page; null while none is shown. A video may say that it has a picture
 * before it is painted: below the number each picture of the film is gray.
 */
export const numberReader = `(() => {
    const video = document.querySelector('video')
    if (!video || video.videoWidth === 0 || video.readyState < 2 || video.seeking) return null
    const canvas = document.createElement('canvas')
    canvas.width = video.videoWidth
    canvas.height = video.videoHeight
    const brush = canvas.getContext('2d')
    brush.drawImage(video, 0, 0)
    const light = (x, y) => brush.getImageData(x, y, 1, 1).data[0]
    if (light(12, 4 * ${BLOCK}) < 32) return null
    let number = 0
    for (let bit = 0; bit < ${BITS}; bit++) if (light(bit * ${BLOCK} + ${BLOCK / 2}, 24) > 128) number += 2 ** bit
    return number
  })()`

/**
 * The number that the shown picture carries; null while none is shown.
 * @param startAt of the film that is waited for, epoch ms; any without it
 */
export function pictureNumber(page: Page, startAt?: number): Promise<number | null> {
  const wanted = startAt === undefined ? '' : `start=${startAt}`
  return page.evaluate<number | null>(
    `document.querySelector('video')?.src.includes(${JSON.stringify(wanted)}) ? ${numberReader} : null`,
  )
}

/** Waits until pictures go on: those of the burned-in counter. */
export async function pictureMoves(page: Page): Promise<void> {
  await until('a picture', async () => (await pictureNumber(page)) !== null, LONG_MS)
  const before = (await pictureNumber(page)) ?? 0
  await until('pictures go on', async () => ((await pictureNumber(page)) ?? 0) >= before + 2 * FPS, LONG_MS)
}
