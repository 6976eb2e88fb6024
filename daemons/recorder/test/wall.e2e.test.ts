/** The wall in a browser, with real pictures: what plays, what is black and why, what is not asked for; privacy masks. */
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { LONG_MS } from './camera.ts'
import { admin, clientOf, headersOf } from './client.ts'
import { BITS, BLOCK } from './counting-film.ts'
import { cameraUser, openStage, pictureMoves, type Stage } from './page-stage.ts'

t.test('the wall', { skip: noBrowser }, async (t) => {
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
  ['shows a camera with privacy masks by single pictures, on its page too', masked],
  ['shows more of them than a browser has connections for, in turn', inTurn],
  ['takes masks away, and draws others by mouse, by touch and by keys, or in numbers', draws],
  ['says why masks are not saved, and why there is no picture to draw them on', refusals],
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

/** What the canvas of a page shows: the number that the picture carries, and how bright it is at a place. */
function shownIn(page: Stage['page'], canvas: string, [x, y]: readonly [number, number] = [0, 0]) {
  return page.evaluate<{ number: number; light: number } | null>(`(() => {
    const canvas = document.querySelector('${canvas} canvas')
    if (!canvas || canvas.width !== ${BITS * BLOCK}) return null
    const light = (x, y) => canvas.getContext('2d').getImageData(x, y, 1, 1).data[0]
    let number = 0
    for (let bit = 0; bit < ${BITS}; bit++) if (light(bit * ${BLOCK} + ${BLOCK / 2}, 24) > 128) number += 2 ** bit
    return { number, light: light(${x} * canvas.width, ${y} * canvas.height) }
  })()`)
}

async function picturesGoOn(page: Stage['page'], canvas: string): Promise<void> {
  const number = async () => (await shownIn(page, canvas))?.number ?? -1
  await until('a picture', async () => (await number()) > 0, LONG_MS)
  const before = await number()
  await until('pictures go on', async () => (await number()) > before, LONG_MS)
}

const LOWER_HALF = [
  [0, 0.5],
  [1, 0.5],
  [1, 1],
  [0, 1],
]

async function masked(t: Test, stage: Stage): Promise<void> {
  const { audit, page, recorder, visit } = stage
  const boss = clientOf(recorder.url)
  await boss.signIn()
  const door = await doorOf(stage)
  await boss.call('PATCH', `/api/cameras/${door}`, { masks: [LOWER_HALF] })
  await visit('wall')
  await picturesGoOn(page, '.tile')
  t.equal((await shownIn(page, '.tile', [0.3, 0.75]))?.light, 0, 'painted')
  t.ok(((await shownIn(page, '.tile', [0.3, 0.35]))?.light ?? 0) > 40, 'and the rest is there')
  await audit(t, 'wall-masked')
  await page.locator('.tile').click()
  await page.getByText('Single pictures without sound, with the privacy masks.').waitFor()
  await picturesGoOn(page, '.live')
  t.equal((await shownIn(page, '.live', [0.3, 0.75]))?.light, 0)
  await page.getByText(/^Live, /).waitFor()
  await audit(t, 'camera-masked')
}

async function inTurn(_t: Test, { camera, page, recorder, visit }: Stage): Promise<void> {
  const boss = clientOf(recorder.url)
  await boss.signIn()
  const added: string[] = []
  for (const name of ['Hall 1', 'Hall 2', 'Hall 3', 'Hall 4', 'Hall 5', 'Hall 6']) {
    const { id } = (await boss.call('POST', '/api/discovery/rtsp', { name, url: camera.url, ...cameraUser })).body
    await boss.call('PATCH', `/api/cameras/${id}`, { masks: [LOWER_HALF] })
    added.push(id)
  }
  await visit('wall')
  for (const id of added) await picturesGoOn(page, `.tile[href$="${id}"]`)
  for (const id of added) await boss.call('DELETE', `/api/cameras/${id}`)
  await page.locator('.tile', { hasText: 'Front door' }).click()
  await page.getByRole('heading', { name: 'Front door' }).waitFor()
}

/** Presses, moves and lets go of a finger, over fractions of the picture. */
async function swipe(page: Stage['page'], from: readonly number[], to: readonly number[]): Promise<void> {
  const box = (await page.locator('.drawing').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  const at = ([x = 0, y = 0]: readonly number[]) => ({ x: box.x + x * box.width, y: box.y + y * box.height })
  const touch = await page.context().newCDPSession(page)
  await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [at(from)] })
  await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [at(to)] })
  await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await touch.detach()
}

async function drag(page: Stage['page'], from: readonly number[], to: readonly number[]): Promise<void> {
  const box = (await page.locator('.drawing').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  const at = ([x = 0, y = 0]: readonly number[]) => [box.x + x * box.width, box.y + y * box.height] as const
  await page.mouse.move(...at(from))
  await page.mouse.down()
  await page.mouse.move(...at(to), { steps: 3 })
  await page.mouse.up()
}

async function draws(t: Test, stage: Stage): Promise<void> {
  const { audit, page, recorder } = stage
  await page.getByRole('link', { name: 'Privacy masks' }).click()
  await page.getByRole('heading', { name: 'Privacy masks of Front door' }).waitFor()
  await until('the picture', async () => (await shownIn(page, '.stage')) !== null, LONG_MS)
  await audit(t, 'masks')
  await page.getByRole('button', { name: 'Remove mask 1' }).click()
  await page.getByText('No masks').waitFor()
  await audit(t, 'masks-none')

  const x = page.getByLabel('Corner 1, percent from the left')
  const y = page.getByLabel('Corner 1, percent from the top')
  await drag(page, [0.25, 0.5], [0.5, 0.75])
  t.match(await x.inputValue(), /^2[45]/, 'drawn by mouse')
  await drag(page, [0.3, 0.55], [0.4, 0.65])
  t.match([await x.inputValue(), await y.inputValue()], [/^3[45]/, /^(59|60)/], 'moved as a whole')
  await drag(page, [0.35, 0.6], [0.2, 0.5])
  t.match([await x.inputValue(), await y.inputValue()], [/^(19|20)/, /^(49|50)/], 'by one corner')

  const before = Number(await x.inputValue())
  await page.getByRole('button', { name: 'Mask 1, corner 1' }).press('ArrowRight')
  t.equal(Number(await x.inputValue()).toFixed(1), (before + 1).toFixed(1), 'by a key')
  await page.locator('.grip:not(.corner)').press('Shift+ArrowLeft')
  t.equal(Number(await x.inputValue()).toFixed(1), (before - 9).toFixed(1))
  await x.fill('abc')
  t.equal(await x.getAttribute('aria-invalid'), 'true')
  await x.fill('10')
  await y.fill('50')
  await page.getByRole('button', { name: 'Add a corner behind corner 1' }).click()
  await page.getByText('5 corners').waitFor()
  await page.getByRole('button', { name: 'Remove corner 2' }).click()
  await page.getByText('4 corners').waitFor()

  await audit(t, 'masks-chosen')
  await swipe(page, [0.7, 0.05], [0.95, 0.3])
  await page.getByRole('button', { name: 'Remove mask 2' }).waitFor()
  await page.getByRole('button', { name: 'Add mask' }).click()
  const third = page.getByRole('button', { name: 'Remove mask 3' })
  await third.waitFor()
  await page.locator('.grip:not(.corner)').nth(2).press('Delete')
  await countIs(third, 0)
  await audit(t, 'masks-drawn')

  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('2 masks are in every picture from now on.').waitFor()
  const boss = clientOf(recorder.url)
  await boss.signIn()
  const [{ masks }] = (await boss.call('GET', '/api/cameras')).body
  t.same([masks.length, masks[0][0]], [2, [0.1, 0.5]])
  await until('they are in the picture', async () => (await shownIn(page, '.stage', [0.8, 0.2]))?.light === 0, LONG_MS)
}

async function refusals(t: Test, stage: Stage): Promise<void> {
  const { audit, camera, page } = stage
  const said = { error: 'store_write_failed', message: 'The disk of the state is full.' }
  await page.route('**/api/cameras/*', (route) => route.fulfill({ status: 503, json: said }))
  await page.getByRole('button', { name: 'Remove mask 2' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').getByText(said.message).waitFor()
  await audit(t, 'masks-refused')
  await page.unroute('**/api/cameras/*')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('button', { name: 'Remove mask 2' }).waitFor()
  await camera.end()
  await page.getByRole('button', { name: 'New picture' }).click()
  const none = page.getByText('The camera sends no picture now.')
  await until(
    'it is asked until the camera is gone',
    async () => {
      if ((await none.count()) === 0) await page.getByRole('button', { name: 'New picture' }).click()
      return (await none.count()) > 0
    },
    LONG_MS,
  )
  await page.getByText('Masks can be drawn all the same').waitFor()
  await audit(t, 'masks-no-picture')
}
