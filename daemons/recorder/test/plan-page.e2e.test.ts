/** Plans of the site on the recorder's pages, in a browser. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { png } from '#kit/test/pictures.ts'
import { type RunningDaemon, startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { LONG_MS, startCamera } from './camera.ts'
import { type Client, clientOf } from './client.ts'
import { makeCountingFilm } from './counting-film.ts'
import { floorImage } from './floor-image.ts'

interface Stage extends Rig {
  recorder: RunningDaemon
  boss: Client
  door: string
  yard: string
  work: string
}

const scenes: Scene<Stage>[] = [
  ['says what to do where there is no plan, and what is wrong with an image', noPlan],
  ['adds a plan, and puts a camera in its middle', addPlan],
  ['moves a camera by mouse, by touch and by keys, and takes it back', movePin],
  ['turns a camera by the end of its cone, and by numbers', turnPin],
  ['hears of what others change', hears],
  ['calibrates by pairs of points, and says how well they fit', calibrate],
  ['says why points are not taken', refusedPoints],
  ['aims a camera that turns by a press on the plan', aims],
  ['calibrates a camera that turns by aiming it, and marks what contradicts', aimsToCalibrate],
  ['shows a viewer the cameras that they may see, and nothing to move', viewer],
  ['says that a plan is gone, and asks before one is removed', removal],
]

t.test('plans on the page', { skip: noBrowser }, async (t) => {
  const work = stateFolderOf(t)
  const camera = await startCamera(t, await makeCountingFilm(work, 60))
  const recorder = await startDaemon(t, 'recorder', {
    ...{ stateFolder: join(work, 'state'), sets: ['storage.free_bytes=0'] },
  })
  const boss = clientOf(recorder.url)
  await boss.setUp()
  await boss.call('PATCH', '/api/onboarding', { step: 'complete' })
  const add = async (name: string, url: string) =>
    (await boss.call('POST', '/api/discovery/rtsp', { name, url })).body.id as string
  const [door, yard] = [await add('Front door', camera.url), await add('Yard', 'rtsp://127.0.0.1:1/none')]
  const rig = await openRig(t, recorder.url, { pictures: 'recorder' })
  const { page } = rig
  await page.getByLabel('User name').fill('admin')
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Cameras' }).first().waitFor()
  await play<Stage>(t, { ...rig, recorder, boss, door, yard, work }, scenes)
})

/** A camera's placement as the recorder has it. */
async function placed({ boss }: Pick<Stage, 'boss'>, camera: string) {
  return (await boss.call('GET', '/api/site-plans')).body.placements[camera]
}

const pin = (page: Stage['page'], name: string) => page.locator('.pin', { hasText: name })

/** The middle of something, in pixels of the window. */
async function middleOf(page: Stage['page'], selector: string): Promise<[number, number]> {
  const box = await page.locator(selector).first().boundingBox()
  return [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2]
}

async function noPlan(t: Test, { audit, page, visit, work }: Stage): Promise<void> {
  await page.getByRole('link', { name: 'Plan', exact: true }).last().click()
  await page.getByText('No plan yet').waitFor()
  await page.getByText(/Send an image of the site as seen from above/).waitFor()
  await audit(t, 'plan-none')
  await page.getByRole('button', { name: 'Add plan' }).click()
  await page.getByText('Choose an image first.').waitFor()
  const wrong = join(work, 'plan.pdf')
  writeFileSync(wrong, '%PDF-1.7')
  await page.getByLabel('Name of the plan').fill('Ground floor')
  await page.getByLabel('Image', { exact: true }).setInputFiles(wrong)
  await page.getByRole('button', { name: 'Add plan' }).click()
  await page.getByText('This is a PDF.').waitFor()
  await visit('plan')
}

async function addPlan(t: Test, { audit, page, work, ...stage }: Stage): Promise<void> {
  const image = join(work, 'plan.png')
  writeFileSync(image, floorImage())
  await page.getByLabel('Image', { exact: true }).setInputFiles(image)
  await page.getByRole('button', { name: 'Add plan' }).click()
  await page.getByRole('heading', { name: 'Ground floor', level: 1 }).waitFor()
  await page.getByText('No camera is on this plan.').waitFor()
  await audit(t, 'plan-empty')
  await page.getByLabel('Put on the plan').selectOption({ label: 'Front door' })
  await pin(page, 'Front door').waitFor()
  await until('it is saved', async () => (await placed(stage, stage.door))?.x === 400, LONG_MS)
  const covers = "getComputedStyle(document.querySelector('.drawing')).backgroundColor"
  t.equal(await page.evaluate(covers), 'rgba(0, 0, 0, 0)', 'what lies over the image hides nothing of it')
  t.equal(await page.evaluate("document.querySelector('.on-plan>img').naturalWidth"), 800)
  await page.getByText('Not calibrated: it is not known').waitFor()
}

async function movePin(t: Test, { audit, page, ...stage }: Stage): Promise<void> {
  const [x, y] = await middleOf(page, '.pin')
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x - 120, y + 60, { steps: 5 })
  await page.mouse.up()
  await page.getByText('Front door is moved.').waitFor()
  await until('it is moved', async () => (await placed(stage, stage.door)).x < 400, LONG_MS)
  const moved = await placed(stage, stage.door)
  t.ok(moved.y > 250, 'down and to the left')
  await page.getByRole('button', { name: 'Undo' }).click()
  await until('it is back', async () => (await placed(stage, stage.door)).x === 400, LONG_MS)
  await pin(page, 'Front door').focus()
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Shift+ArrowDown')
  await until('it is moved by keys', async () => (await placed(stage, stage.door)).y === 330, LONG_MS)
  t.equal((await placed(stage, stage.door)).x, 392)
  await pin(page, 'Front door').evaluate((element) => {
    const { height, left, top, width } = element.getBoundingClientRect()
    const at = (dx: number) => ({ clientX: left + width / 2 + dx, clientY: top + height / 2, bubbles: true })
    const send = (type: string, dx: number) =>
      element.dispatchEvent(new PointerEvent(type, { ...at(dx), pointerId: 1, pointerType: 'touch', isPrimary: true }))
    // Nobody's finger: it cannot be captured.
    Element.prototype.setPointerCapture = () => {}
    send('pointerdown', 0)
    setTimeout(() => send('pointermove', 40), 50)
    setTimeout(() => send('pointerup', 40), 150)
  })
  await until('it is moved by touch', async () => (await placed(stage, stage.door)).x > 392, LONG_MS)
  await audit(t, 'plan-camera')
}

async function turnPin(t: Test, { page, ...stage }: Stage): Promise<void> {
  const before = await placed(stage, stage.door)
  const [x, y] = await middleOf(page, '[data-turn]')
  const [pinX, pinY] = await middleOf(page, '.pin')
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(pinX + 100, pinY, { steps: 5 })
  await page.mouse.up()
  await until('it is turned', async () => Math.abs((await placed(stage, stage.door)).headingDeg - 90) < 2, LONG_MS)
  const after = await placed(stage, stage.door)
  t.same([after.x, after.y], [before.x, before.y])
  await page.getByRole('button', { name: 'Direction of Front door' }).focus()
  await page.keyboard.press('ArrowRight')
  await until('by keys', async () => Math.abs((await placed(stage, stage.door)).headingDeg - 95) < 2, LONG_MS)
  await page.getByLabel('Width of its picture').fill('0')
  await page.keyboard.press('Tab')
  await page.getByText('Type a number from 1 to 360.').waitFor()
  await page.getByLabel('Width of its picture').fill('85')
  await page.keyboard.press('Tab')
  await until('by a number', async () => (await placed(stage, stage.door)).hfovDeg === 85, LONG_MS)
}

async function hears(_: Test, { boss, page, yard, ...stage }: Stage): Promise<void> {
  const { planId } = await placed({ boss }, stage.door)
  const placement = { planId, x: 650, y: 120, headingDeg: 225, hfovDeg: 60, rangePx: 160 }
  await boss.call('PUT', `/api/cameras/${yard}/plan`, { placement })
  await pin(page, 'Yard').waitFor()
  await boss.call('PATCH', `/api/site-plans/${planId}`, { name: 'Hall' })
  await page.getByRole('heading', { name: 'Hall', level: 1 }).waitFor()
  await boss.call('PATCH', `/api/site-plans/${planId}`, { name: 'Ground floor' })
}

/** Presses a spot of a stage, in fractions. */
async function pressAt(page: Stage['page'], name: string, [u, v]: readonly [number, number]): Promise<void> {
  const box = await page.getByRole('group', { name }).boundingBox()
  await page.mouse.click((box?.x ?? 0) + u * (box?.width ?? 0), (box?.y ?? 0) + v * (box?.height ?? 0))
}

const corners = [
  [
    [0.3, 0.4],
    [0.25, 0.25],
  ],
  [
    [0.7, 0.4],
    [0.75, 0.25],
  ],
  [
    [0.9, 0.9],
    [0.75, 0.75],
  ],
  [
    [0.1, 0.9],
    [0.25, 0.75],
  ],
] as const

async function calibrate(t: Test, { audit, page, ...stage }: Stage): Promise<void> {
  await pin(page, 'Front door').click()
  await page.getByRole('link', { name: 'Calibrate' }).click()
  await page.getByText(/Press a place on the floor in the picture.*4 more points are needed/).waitFor()
  await page.getByText('What is marked here is marked on the plan too').waitFor()
  for (const [at, [picture, plan]] of corners.entries()) {
    await pressAt(page, 'Points in the picture', picture)
    await page.getByText(`Now press the same place on the plan: point ${at + 1}.`).waitFor()
    await pressAt(page, 'Points on the plan', plan)
  }
  await page.getByText(/That is enough to save/).waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: /^They fit well: 0\.0 px off/ }).waitFor()
  t.match(await placed(stage, stage.door), { calibration: { kind: 'homography' } })
  await countIs(page.getByText('0.0 px off', { exact: true }), 4)
  await page.getByRole('button', { name: 'Add point' }).click()
  await page.getByRole('group', { name: 'Points on the plan' }).getByRole('button', { name: 'Point 5' }).focus()
  for (let press = 0; press < 4; press++) await page.keyboard.press('Shift+ArrowDown')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: /^They (do not fit|fit roughly)/ }).waitFor()
  await audit(t, 'plan-calibration')
}

async function refusedPoints(t: Test, { audit, page, ...stage }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Remove point 5' }).click()
  const plan = page.getByRole('group', { name: 'Points on the plan' })
  const [x, y] = await middleOf(page, '[aria-label="Points on the plan"] [data-spot="0"]')
  const [toX, toY] = await middleOf(page, '[aria-label="Points on the plan"] [data-spot="1"]')
  await plan.getByRole('button', { name: 'Point 1' }).hover()
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(toX + 60, toY, { steps: 4 })
  await page.mouse.up()
  await page.getByRole('button', { name: 'Save' }).click()
  await page
    .getByRole('alert')
    .getByText(/^(The points cross|The points on the plan are a mirror)/)
    .waitFor()
  t.match(await placed(stage, stage.door), { calibration: { points: { length: 5 } } }, 'what was saved stays')
  await audit(t, 'plan-points-refused')
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('The calibration is cleared.').waitFor()
  t.equal((await placed(stage, stage.door)).calibration, null)
  await page.getByRole('link', { name: 'Back to the plan' }).click()
  await page.getByRole('heading', { name: 'Ground floor', level: 1 }).waitFor()
}

/** No camera of the stage turns: what the recorder would answer of one is played. */
async function aims(t: Test, { audit, page, visit, yard }: Stage): Promise<void> {
  const asked: unknown[] = []
  await page.route('**/api/site-plans', async (route) => {
    const answer = await (await route.fetch()).json()
    answer.placements[yard].calibration = { kind: 'ptz', headingDeg: 10, height: 90, residualDeg: 0.42, samples: [] }
    await route.fulfill({ json: answer })
  })
  await page.route('**/plan/looking', (route) =>
    route.fulfill({
      json: { point: { x: 500, y: 300 }, bearingDeg: 220, hfovDeg: 30, position: { pan: 0, tilt: -20, zoom: 0 } },
    }),
  )
  await page.route('**/plan/aim', async (route) => {
    asked.push(route.request().postDataJSON())
    await route.fulfill({ json: { clamped: asked.length > 1, levelOnly: false } })
  })
  await visit('wall')
  await visit('plan')
  await pin(page, 'Yard').click()
  await page.getByText('Calibrated by what it was aimed at: 0.4° off in the mean.').waitFor()
  await page.getByText('Press on the plan to have Yard look there.').waitFor()
  await page.locator('.sees').waitFor()
  await audit(t, 'plan-aim')
  await pressAt(page, 'Cameras on this plan', [0.5, 0.25])
  await page.getByText('Yard looks there.').waitFor()
  await pressAt(page, 'Cameras on this plan', [0.25, 0.9])
  await page.getByText('Yard turned as far as it can, and does not reach this point.').waitFor()
  const [first] = asked as { x: number; y: number }[]
  t.ok(Math.abs((first?.x ?? 0) - 400) < 3 && Math.abs((first?.y ?? 0) - 125) < 3)
  await page.unrouteAll({ behavior: 'wait' })
}

/** No camera of the stage turns here either. */
async function aimsToCalibrate(t: Test, { audit, boss, page, visit, yard }: Stage): Promise<void> {
  const [{ id: planId }] = (await boss.call('GET', '/api/site-plans')).body.plans
  const position = { pan: 12.5, tilt: -30, zoom: 0 }
  let geometry: object | null = null
  await page.route('**/api/cameras', async (route) => {
    const all = await (await route.fetch()).json()
    await route.fulfill({ json: all.map((one: { id: string }) => (one.id === yard ? { ...one, onvif: true } : one)) })
  })
  await page.route('**/ptz', (route) =>
    route.fulfill({ json: { supported: true, continuous: true, zoom: true, mostPresets: 0, geometry, position } }),
  )
  await page.route('**/ptz/train', async (route) => {
    geometry = { kind: 'trained' }
    await route.fulfill({ json: {} })
  })
  const sent: { samples: { position: object; plan: number[] }[] }[] = []
  await page.route('**/plan/samples', async (route) => {
    sent.push(route.request().postDataJSON())
    const fit = {
      headingDeg: 40,
      height: null,
      residualDeg: 0.4,
      errorsDeg: [0.3, 0.5, 24],
      leftOut: [false, false, true],
    }
    await route.fulfill({ json: { fit } })
  })
  await visit('wall')
  await until('the page knows that it turns', async () => {
    await visit('plan', planId, yard)
    return (await page.getByText('It is not known how wide this camera sees').count()) > 0
  })
  await audit(t, 'plan-not-trained')
  await page.getByRole('button', { name: 'Find out by turning it' }).click()
  await page.getByText(/under the cross, then press that place on the plan/).waitFor()
  await page.getByText('None yet.').waitFor()
  await audit(t, 'plan-samples-none')
  for (const [x, y, many] of [
    [0.2, 0.3, 1],
    [0.5, 0.6, 2],
    [0.8, 0.3, 3],
  ] as const) {
    await pressAt(page, 'Points on the plan', [x, y])
    await countIs(page.locator('.pairs li'), many)
  }
  await page.getByRole('button', { name: 'Save' }).click()
  await page
    .getByRole('heading', { name: /^They are 0\.4° off in the mean\. One contradicts the others\. Its height/ })
    .waitFor()
  await page.getByText('24.0° off: it contradicts the others and does not count').waitFor()
  t.match(sent, [{ samples: [{ position, plan: [160, 150] }, { position }, { position }] }])
  await audit(t, 'plan-samples')
  await page.unrouteAll({ behavior: 'wait' })
}

async function viewer(t: Test, { audit, boss, door, page, visit }: Stage): Promise<void> {
  const login = { username: 'guard', password: 'seven long words' }
  await boss.call('POST', '/api/accounts', { ...login, role: 'viewer', cameras: [door] })
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('User name').fill(login.username)
  await page.getByLabel('Password').fill(login.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await visit('plan')
  await pin(page, 'Front door').click()
  await countIs(page.locator('.pin'), 1)
  await countIs(page.locator('[data-turn]'), 0)
  await countIs(page.getByRole('link', { name: 'Calibrate' }), 0)
  await audit(t, 'plan-viewer')
  await boss.call('PUT', `/api/cameras/${door}/plan`, { placement: null })
  await page.getByText('None of your cameras is on a plan').waitFor()
}

async function removal(t: Test, { boss, page, visit }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('User name').fill('admin')
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await visit('plan', 'ffffffff')
  await page.getByText('This plan is not there any more').waitFor()
  await boss.send('POST', '/api/site-plans?name=Upper%20floor', png(600, 400))
  await page.getByRole('link', { name: 'All plans' }).click()
  await page.getByRole('navigation', { name: 'Plans' }).getByRole('link', { name: 'Upper floor' }).click()
  await page.getByRole('heading', { name: 'Upper floor', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('button', { name: 'Keep plan' }).click()
  t.equal((await boss.call('GET', '/api/site-plans')).body.plans.length, 2)
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('button', { name: 'Remove plan' }).click()
  await page.getByText('Upper floor is removed.').waitFor()
  await page.getByRole('heading', { name: 'Ground floor', level: 1 }).waitFor()
}
