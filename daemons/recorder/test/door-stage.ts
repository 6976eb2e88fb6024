/** A recorder with one camera whose pictures count themselves, for what is taken out of footage. */
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { LONG_MS, startCamera } from './camera.ts'
import { clientOf } from './client.ts'
import { makeCountingFilm } from './counting-film.ts'

/** Ends with the test. */
export async function openDoor(t: Parameters<typeof stateFolderOf>[0]) {
  const work = stateFolderOf(t)
  // Slow machines decode slowly, and nothing here is about that.
  const sets = [
    'storage.free_bytes=0',
    'storage.file_s=5',
    `pictures.start_ms=${LONG_MS}`,
    `pictures.answer_ms=${LONG_MS}`,
  ]
  const recorder = await startDaemon(t, 'recorder', { stateFolder: `${work}/recorder`, sets })
  const boss = clientOf(recorder.url)
  await boss.setUp()
  const camera = await startCamera(t, await makeCountingFilm(work, 180))
  const door = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Door', url: camera.url })).body.id as string
  return { work, recorder, boss, door }
}
