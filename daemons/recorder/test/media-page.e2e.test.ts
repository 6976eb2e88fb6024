/** What cameras may send beside H.264, on the recorder's pages in a browser. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type RunningDaemon, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig, type Rig } from '#kit/test/web/page-rig.ts'
import { H264, H265, LONG_MS, makeFlashes, makeFootage, SOUNDS, startCamera } from './camera.ts'
import { admin, clientOf } from './client.ts'

const sets = ['storage.file_s=600', 'storage.free_bytes=0']

interface Stage {
  work: string
  recorder: RunningDaemon & ReturnType<typeof clientOf>
  rig: Rig
}

t.test('what cameras may send, on the page', { skip: noBrowser }, async (t) => {
  const work = stateFolderOf(t)
  const daemon = await startDaemon(t, 'recorder', { stateFolder: join(work, 'state'), sets })
  const recorder = { ...daemon, ...clientOf(daemon.url) }
  await recorder.setUp()
  const rig = await openRig(t, daemon.url, { pictures: 'recorder' })
  await rig.page.getByLabel('User name').fill(admin.username)
  await rig.page.getByLabel('Password').fill(admin.password)
  await rig.page.getByRole('button', { name: 'Sign in' }).click()
  await h265(t, { work, recorder, rig })
  for (const kind of ['aac', 'alaw'] as const) await sound(t, { work, recorder, rig }, kind)
})

/** Adds a camera, and waits until there is something to play. */
async function added(t: Test, { recorder }: Stage, name: string, url: string): Promise<string> {
  const { body, status } = await recorder.call('POST', '/api/discovery/rtsp', { name, url })
  t.equal(status, 201, JSON.stringify(body))
  const bounds = async () =>
    (await recorder.call('GET', `/api/cameras/${body.id}/availability?from=0&to=1`)).body.bounds
  await until('five seconds are kept', async () => ((b) => b && b.end - b.start > 5000)(await bounds()), LONG_MS)
  return body.id
}

async function h265(t: Test, stage: Stage): Promise<void> {
  const camera = await startCamera(t, await makeFootage(stage.work, 60, 'h265'), undefined, [H265])
  const id = await added(t, stage, 'Gate', camera.url)
  const { audit, page, visit } = stage.rig
  await visit('playback', id)
  await page.getByText('The camera sends H.265, which this browser does not play').waitFor()
  await audit(t, 'playback-h265')
}

async function sound(t: Test, stage: Stage, kind: 'aac' | 'alaw'): Promise<void> {
  const { recorder } = stage
  const file = await makeFlashes(stage.work, 60, kind)
  const camera = await startCamera(t, file, undefined, [H264, SOUNDS[kind].pay])
  const id = await added(t, stage, `Yard ${kind}`, camera.url)
  const { audit, page, visit } = stage.rig
  await visit('playback', id)
  await page.getByRole('button', { name: 'Sound on' }).click()
  await page.getByRole('button', { name: 'Sound off' }).waitFor()
  const bytes = () =>
    page.evaluate<[number, number, boolean]>(
      `(({ muted, webkitAudioDecodedByteCount: sound, webkitVideoDecodedByteCount: pictures }) => [pictures, sound, muted])(document.querySelector('video') ?? {})`,
    )
  await until(
    'pictures and sound are decoded',
    async () => (([pictures, sound, muted]) => pictures > 0 && sound > 0 && !muted)(await bytes()),
    LONG_MS,
  )
  if (kind === 'aac') await audit(t, 'playback-sound')
  await visit('camera', id)
  if (kind === 'alaw') {
    await page.getByText('It sends its sound as G.711, which browsers do not play live').waitFor()
    return
  }
  await page.getByRole('button', { name: 'Sound on' }).waitFor()
  await until(
    'pictures alone',
    async () => (([pictures, sound, muted]) => pictures > 0 && sound === 0 && muted)(await bytes()),
    LONG_MS,
  )
  await page.getByRole('button', { name: 'Sound on' }).click()
  await page.getByRole('button', { name: 'Sound off' }).waitFor()
  let before = 0
  const grows = (sound: number) => {
    const isMore = before > 0 && sound > before
    before = sound
    return isMore
  }
  await until(
    'it is heard live',
    async () => (([pictures, sound, muted]) => pictures > 0 && grows(sound) && !muted)(await bytes()),
    LONG_MS,
  )
  await audit(t, 'camera-sound')
  await page.keyboard.press('m')
  await until('it is silent', async () => (await bytes())[2], LONG_MS)
  await recorder.call('PATCH', `/api/cameras/${id}`, { audio: false })
  await page.getByText('Its sound is switched off in its settings.').waitFor()
}
