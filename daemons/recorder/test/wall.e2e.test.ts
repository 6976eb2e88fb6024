/** The wall in a browser, with real pictures: what plays, what is black and why, and what is not asked for. */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { LONG_MS } from './camera.ts'
import { admin, clientOf, headersOf } from './client.ts'
import { cameraUser, openStage, pictureMoves, type Stage } from './page-stage.ts'

t.test('the wall', { skip: noBrowser, timeout: 170_000 }, async (t) => {
  const stage = await openStage(t)
  const boss = clientOf(stage.recorder.url)
  await boss.setUp()
  await boss.call('PATCH', '/api/onboarding', { step: 'complete' })
  await boss.call('POST', '/api/discovery/rtsp', { name: 'Front door', url: stage.camera.url, ...cameraUser })
  // It may have asked before there was an account.
  await stage.page.reload()
  await play<Stage>(t, stage, scenes)
})

const scenes: Scene<Stage>[] = [
  ['is shown first: every camera as it is now, or why there is no picture', first],
  ['says when there are too many streams, and goes on by itself', tooMany],
  ['leads to the page of a camera, and so does a link of another system', links],
  ['asks for no picture that nobody sees, and keeps the columns that were chosen', hidden],
]

async function first(t: Test, { audit, page, recorder }: Stage): Promise<void> {
  const boss = clientOf(recorder.url)
  await boss.signIn()
  const yard = (await boss.call('POST', '/api/discovery/rtsp', { name: 'Yard', url: 'rtsp://127.0.0.1:1/none' })).body
  await page.getByLabel('User name').fill(admin.username)
  await page.getByLabel('Password').fill(admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.tile', { hasText: 'Yard' }).getByText('The camera cannot be reached').waitFor()
  await pictureMoves(page)
  await audit(t, 'wall')
  await boss.call('DELETE', `/api/cameras/${yard.id}`)
  await countIs(page.getByText('Yard'), 0, 'the feed tells that it is gone')
}

/** The only camera. */
async function doorOf({ recorder }: Stage): Promise<string> {
  const boss = clientOf(recorder.url)
  await boss.signIn()
  return (await boss.call('GET', '/api/cameras')).body[0].id
}

/** Live streams of the same account, up to its bound. */
async function takeStreams(t: Test, url: string, camera: string, count: number) {
  const boss = clientOf(url)
  await boss.signIn()
  const headers = headersOf(boss.credentials)
  const sockets = Array.from(
    { length: count },
    () => new WebSocket(`${url.replace('http', 'ws')}/ws/video?camera=${camera}`, { headers }),
  )
  t.teardown(() => sockets.map((socket) => socket.terminate()))
  await Promise.all(sockets.map((socket) => once(socket, 'message')))
  return () => sockets.map((socket) => socket.terminate())
}

async function tooMany(t: Test, stage: Stage): Promise<void> {
  const { audit, page, recorder, visit } = stage
  await visit('cameras')
  const leave = await takeStreams(t, recorder.url, await doorOf(stage), 3)
  await visit('wall')
  await page.getByText('This account has 3 live streams open already').waitFor()
  await audit(t, 'wall-too-many')
  leave()
  await pictureMoves(page)
}

async function links(_t: Test, stage: Stage): Promise<void> {
  const { page, recorder } = stage
  await page.locator('.tile', { hasText: 'Front door' }).click()
  await page.getByRole('heading', { name: 'Front door' }).waitFor()
  await page.goto(`${recorder.url}/?camera=${await doorOf(stage)}`)
  await page.getByRole('heading', { name: 'Front door' }).waitFor()
  await pictureMoves(page)
}

async function hidden(_t: Test, { page, recorder, visit }: Stage): Promise<void> {
  const boss = clientOf(recorder.url)
  await boss.signIn()
  const open = async () => /sockets_open (\d+)/.exec((await boss.call('GET', '/metrics')).body)?.[1]
  const hide = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await visit('wall')
  await pictureMoves(page)
  await until('the feed and the picture', async () => (await open()) === '2', LONG_MS)
  await hide(true)
  await until('the feed alone', async () => (await open()) === '1', LONG_MS)
  await hide(false)
  await until('the picture again', async () => (await open()) === '2', LONG_MS)
  await page.getByRole('radio', { name: '3', exact: true }).check({ force: true })
  await page.reload()
  await page.locator('.wall[data-columns="3"]').waitFor()
  await page.getByRole('radio', { name: 'Auto' }).check({ force: true })
}
