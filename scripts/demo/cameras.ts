/** The recorder of the demo, with two simulated cameras that show the time of day. */
import { join } from 'node:path'
import { startCameras } from '../sim/rtsp-cameras.ts'
import { type Scene, TEST_PICTURES_PER_S, testFilm } from '../sim/test-picture.ts'
import { type DaemonProcess, startDaemon } from './daemon-process.ts'
import { LOOPBACK } from './free-port.ts'
import type { Undo } from './undo.ts'

const PAGE_PORT = 3133
const CALL_MS = 20_000
/** Half an hour of both; a demo that is forgotten fills no disk. */
const KEEP_BYTES = 1_000_000_000

/** What the cameras see: a car in the yard, and somebody at the entrance. */
const VIEWS: Record<string, Scene> = {
  Yard: { sky: [150, 150, 110], ground: [90, 110, 130], mover: [110, 90, 200], size: [64, 32], dotsPerS: 40 },
  Entrance: { sky: [120, 120, 140], ground: [70, 125, 135], mover: [180, 110, 150], size: [16, 48], dotsPerS: 12 },
}

/** @param stateFolder holds the recorder's folder and its footage */
export async function startRecorder(
  stateFolder: string,
  admin: { username: string; password: string },
  undo: Undo,
): Promise<DaemonProcess> {
  const cameras = await startCameras({
    picturesPerS: TEST_PICTURES_PER_S,
    film(path) {
      const view = VIEWS[path.slice(1)]
      return view && testFilm(view, () => Date.now())
    },
  })
  undo.push(() => cameras.stop())
  const recorder = await startDaemon(
    {
      name: 'recorder',
      stateFolder: join(stateFolder, 'recorder'),
      listen: `${LOOPBACK}:${PAGE_PORT}`,
      sets: [`storage.keep_bytes=${KEEP_BYTES}`, 'storage.free_bytes=0'],
    },
    undo,
  )
  const first = await call(`${recorder.url}/api/setup`, admin, {})
  const { csrf } = (await first.json()) as { csrf: string }
  const cookie = first.headers.getSetCookie().map((one) => one.split(';')[0])
  const signedIn = { cookie: cookie.join('; '), 'x-csrf-token': csrf }
  for (const name of Object.keys(VIEWS)) {
    const url = `rtsp://${LOOPBACK}:${cameras.port}/${name}`
    await call(`${recorder.url}/api/discovery/rtsp`, { name, url }, signedIn)
  }
  // Its pages would lead through the set-up.
  await call(`${recorder.url}/api/onboarding`, { step: 'complete' }, signedIn, 'PATCH')
  return recorder
}

/** @throws Error with the recorder's own sentence if it refuses */
async function call(url: string, body: object, headers: Record<string, string>, method = 'POST'): Promise<Response> {
  const head = { 'content-type': 'application/json', ...headers }
  const signal = AbortSignal.timeout(CALL_MS)
  const response = await fetch(url, { method, headers: head, body: JSON.stringify(body), signal })
  if (!response.ok) throw new Error(`${method} ${url}: ${await response.text()}`)
  return response
}
