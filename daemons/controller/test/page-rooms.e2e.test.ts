/** What people do on the pages of a built controller: rooms, favourites, floor plans, wall panels, own passwords. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type RunningDaemon, startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { AWAY, countIs, focusIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { PASSWORD, plantroom, SETS } from './operating.ts'
import { school } from './school.ts'

interface Stage extends Rig {
  daemon: RunningDaemon
  /** Stops it, and starts it again on the same state. */
  restart(): Promise<void>
}

const PHONE = { width: 390, height: 844 }
const DESK = { width: 1280, height: 800 }

t.test('the pages of people on a built controller', { skip: noBrowser }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'page-rooms-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [file, stateFolder] = [join(folder, 'site.json'), join(folder, 'state')]
  writeFileSync(file, JSON.stringify(school))
  const imported = await plantroom(['controller', 'import', file, '--state', stateFolder, '--config', '/dev/null'])
  t.equal(imported.code, 0, imported.said)
  const start = (listen = '127.0.0.1:0') => startDaemon(t, 'controller', { stateFolder, sets: SETS, listen })
  const daemon = await start()
  const rig = await openRig(t, daemon.url, { pictures: 'controller', wanted: AWAY })
  const stage: Stage = {
    ...rig,
    daemon,
    async restart() {
      await stage.daemon.stop()
      // On the same port, as the page expects it.
      stage.daemon = await start(new URL(daemon.url).host)
      await rig.page.goto(stage.daemon.url)
    },
  }
  await play<Stage>(t, stage, [
    ['a wall panel signs in by PIN, and a wrong one says so', byPin],
    ['a teacher sees which rooms there are, and one room whole, on a phone', rooms],
    ['a device that does not answer is told in words for a teacher', plainWords],
    ['favourites and macros are on top, of each person the own ones, after a restart too', favourites],
    ['the first floor plan is made by mouse and by keyboard', makePlan],
    ['a floor plan shows what its zones do, and opens their controls', usePlan],
    ['a picture that is none is refused with its reason', refusedPictures],
    ['a password that has to be changed is changed first', mustChange],
    ['the own password is changed on the page Account', ownPassword],
  ])
})

async function signIn({ page }: Stage, username: string, password = PASSWORD): Promise<void> {
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
}

async function signOut({ page, visit }: Stage): Promise<void> {
  await page.setViewportSize(DESK)
  await visit('account')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await visit('zones')
}

async function byPin(t: Test, stage: Stage): Promise<void> {
  const { page, audit } = stage
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByRole('button', { name: 'Sign in by PIN' }).click()
  await focusIs(page, 'name', 'username')
  t.equal(await page.getByLabel('PIN', { exact: true }).getAttribute('inputmode'), 'numeric')
  await audit(t, 'sign-in-pin')
  await page.getByLabel('User name').fill('tess')
  await page.getByLabel('PIN', { exact: true }).fill('0000')
  await page.keyboard.press('Enter')
  await page.locator('.refusal', { hasText: 'No account that may sign in here has this name and PIN' }).waitFor()
  await audit(t, 'sign-in-pin-refused', 'unpictured')
  await page.getByLabel('PIN', { exact: true }).fill('471147114711')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
  t.notMatch(await page.content(), /471147114711/)
}

/** Nothing has to be scrolled: the page is as high as the window. */
const isInSight = (page: Page) => page.evaluate('document.documentElement.scrollHeight <= innerHeight')

async function rooms(t: Test, { page, audit }: Stage): Promise<void> {
  await page.setViewportSize(PHONE)
  await page.getByRole('heading', { name: 'Rooms' }).waitFor()
  await countIs(page.locator('.tile'), 0, 'a phone lists rooms')
  const room = page.getByRole('link', { name: /^Classroom 1/ })
  await room.getByText(/Ceiling on/).waitFor()
  await audit(t, 'rooms')
  await page.setViewportSize(PHONE)
  await room.click()
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
  t.same(await page.locator('.tile h3').allTextContents(), ['Ceiling', 'Board lights', 'Heat', 'Blinds', 'Projector'])
  t.equal(await isInSight(page), true, 'all of the room is in sight')
  for (const control of await page.locator('.ctl button, .ctl input, .star').all()) {
    const box = await control.boundingBox()
    t.ok(box && box.height >= 44 && box.width >= 44, `${await control.getAttribute('aria-label')} fits a thumb`)
  }
  await audit(t, 'room')
  await page.setViewportSize(PHONE)
  await page.getByRole('button', { name: 'Ceiling: Off' }).click()
  await page.locator('.tile .val', { hasText: 'Off' }).first().waitFor()
  await page.getByRole('link', { name: 'All rooms' }).click()
  await page.getByRole('heading', { name: 'Rooms' }).waitFor()
}

async function plainWords(t: Test, { page, visit, audit }: Stage): Promise<void> {
  await visit('zones', 'room', '2')
  const tile = page.locator('.tile', { has: page.getByRole('heading', { name: 'Projector' }) })
  await page.getByRole('button', { name: 'Projector: On' }).click()
  const alert = tile.getByRole('alert')
  await alert.getByText('Projector does not answer.').waitFor()
  t.notMatch(await alert.textContent(), /ECONN|127\.0\.0\.1|device \d|driver/i)
  await page.setViewportSize(PHONE)
  t.equal(await isInSight(page), true, 'with the message too')
  await audit(t, 'room-refused')
}

async function favourites(t: Test, stage: Stage): Promise<void> {
  const { page, visit, audit } = stage
  const section = page.getByRole('region', { name: 'Favourites' })
  await page.setViewportSize(DESK)
  await visit('zones')
  t.equal(await section.count(), 0)
  await page.getByRole('button', { name: 'Heat: favourite' }).click()
  await section.getByRole('heading', { name: 'Heat' }).waitFor()
  await page.getByRole('button', { name: 'Lesson: favourite' }).click()
  await page.locator('[aria-label="Lesson: favourite"][aria-pressed="true"]').waitFor()
  const order = await page.locator('#main :is(h2, .macros b)').allTextContents()
  t.same(
    order.slice(0, 3).map((text) => text.trim()),
    ['Favourites', 'Macros', 'Lesson'],
    'they are on top',
  )
  await audit(t, 'favourites')
  await signOut(stage)
  await signIn(stage, 'otto')
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
  t.equal(await section.count(), 0, 'those of somebody else are not his')
  await stage.restart()
  await signIn(stage, 'tess')
  await section.getByRole('heading', { name: 'Heat' }).waitFor()
  t.equal(await page.locator('[aria-label="Lesson: favourite"]').getAttribute('aria-pressed'), 'true')
  await section.getByRole('button', { name: 'Heat: favourite' }).click()
  await section.waitFor({ state: 'detached' })
  await signOut(stage)
}

/** A picture of a floor in each of the kinds, as a browser saves it. */
async function pictures(page: Page): Promise<{ name: string; mimeType: string; buffer: Buffer }[]> {
  const kinds = ['image/png', 'image/jpeg', 'image/webp']
  const drawn = (await page.evaluate(async (types) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 900, height: 600 })
    const context = canvas.getContext('2d')
    if (!context) return []
    context.fillStyle = '#fff'
    context.fillRect(0, 0, 900, 600)
    context.lineWidth = 6
    for (const room of [
      { x: 30, y: 30, w: 400, h: 540 },
      { x: 430, y: 30, w: 440, h: 260 },
      { x: 430, y: 290, w: 440, h: 280 },
    ])
      context.strokeRect(room.x, room.y, room.w, room.h)
    return types.map((type) => canvas.toDataURL(type))
  }, kinds)) as string[]
  return drawn.map((url, at) => ({
    ...{ name: `floor ${at}`, mimeType: kinds[at] ?? '' },
    buffer: Buffer.from(url.slice(url.indexOf(',') + 1), 'base64'),
  }))
}

async function makePlan(t: Test, stage: Stage): Promise<void> {
  const { page, visit, audit } = stage
  await signIn(stage, 'ada')
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
  await visit('plan')
  await page.getByText('No floor plan yet').waitFor()
  await audit(t, 'plan-none', 'unpictured')
  await page.getByRole('link', { name: 'Make a plan' }).click()
  await page.getByLabel('Name of the floor').fill('Ground floor')
  await page.getByRole('button', { name: 'Keep change' }).click()
  await page.getByText('Pick the picture of the floor first.').first().waitFor()
  const image = page.locator('.plan img')
  for (const file of await pictures(page)) {
    await page.locator('input[type="file"]').setInputFiles(file)
    await until(`the picture ${file.mimeType} is shown`, async () =>
      Boolean(
        await image.evaluateAll(([one]) => one instanceof HTMLImageElement && one.complete && one.naturalWidth === 900),
      ),
    )
  }
  const add = page.getByLabel('Add a zone')
  const mark = (name: string) => page.getByRole('button', { name: new RegExp(`^${name}: .* from the left`) })
  await add.selectOption({ label: 'Classroom 1: Ceiling' })
  await add.selectOption({ label: 'Classroom 1: Projector' })
  await add.selectOption({ label: 'Office: Desk lamp' })
  // By mouse, by arrow keys, and by numbers.
  const box = await image.boundingBox()
  if (!box) throw new Error('no picture')
  await mark('Desk lamp').hover()
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.75, box.y + box.height * 0.25, { steps: 5 })
  await page.mouse.up()
  await mark('Desk lamp').and(page.locator('[aria-label*="75.0 % from the left, 25.0 %"]')).waitFor()
  await mark('Projector').focus()
  for (const key of ['ArrowLeft', 'ArrowLeft', 'Shift+ArrowUp']) await page.keyboard.press(key)
  await mark('Projector').and(page.locator('[aria-label*="46.0 % from the left, 49.9 %"]')).waitFor()
  await page.getByLabel('Ceiling: per cent from the left').fill('20,5')
  await page.getByLabel('Ceiling: per cent from the top').fill('300')
  await page.keyboard.press('Tab')
  await mark('Ceiling').and(page.locator('[aria-label*="20.5 % from the left, 100.0 %"]')).waitFor()
  await page.getByLabel('Ceiling: per cent from the top').fill('50')
  await page.keyboard.press('Tab')
  await audit(t, 'plan-edit')
  await page.getByRole('button', { name: 'Keep change' }).click()
  await page.getByText('its change waits for Apply all').waitFor()
  await audit(t, 'plans', 'unpictured')
  await page.getByRole('link', { name: 'Show and apply' }).click()
  await page.getByRole('button', { name: 'Apply all' }).click()
  await page.getByText('Nothing is pending.').waitFor()
  await signOut(stage)
}

async function usePlan(t: Test, stage: Stage): Promise<void> {
  const { page, visit, audit, daemon } = stage
  await signIn(stage, 'tess')
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
  await page.getByRole('link', { name: 'Floor plan' }).first().click()
  await page.getByRole('heading', { name: 'Ground floor', exact: true }).waitFor()
  const marks = page.locator('.mark')
  await until('the picture is there', async () =>
    Boolean(
      await page.locator('.plan img').evaluate((one) => one instanceof HTMLImageElement && one.naturalWidth === 900),
    ),
  )
  t.same(
    await page.locator('.mark > span').allTextContents(),
    ['Ceiling', 'Projector'],
    'the lamp of the office is not hers',
  )
  const said = JSON.stringify(await page.evaluate(async () => (await fetch('/ui/zones')).json()))
  t.notMatch(said, /Desk lamp/)
  await audit(t, 'plan')
  await page.setViewportSize(PHONE)
  for (const mark of await marks.all()) {
    const box = await mark.boundingBox()
    t.ok(box && box.height >= 44 && box.width >= 44, 'a mark fits a thumb')
  }
  await page.locator('.mark', { hasText: 'Ceiling' }).click()
  const dialog = page.getByRole('dialog', { name: 'Ground floor' })
  await dialog.getByRole('heading', { name: 'Ceiling' }).waitFor()
  await audit(t, 'plan-zone')
  await dialog.getByRole('button', { name: 'Ceiling: On' }).click()
  await page.locator('.mark[data-state="on"]', { hasText: 'Ceiling' }).waitFor({ state: 'attached' })
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  // The focus is back at its mark.
  await page.locator('.mark:focus', { hasText: 'Ceiling' }).waitFor()
  await page.setViewportSize(PHONE)
  await page.getByRole('button', { name: 'Larger' }).click()
  t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'the plan alone is moved')
  await audit(t, 'plan-large', 'unpictured')
  await signOut(stage)
  await signIn(stage, 'vic')
  await page.getByText('Desk lamp').first().waitFor()
  await countIs(page.getByRole('link', { name: 'Floor plan' }), 0, 'a UI that is not his')
  await visit('plan')
  await page
    .getByRole('heading', { name: 'Office' })
    .or(page.getByRole('heading', { name: 'Desk lamp' }))
    .first()
    .waitFor()
  const status = await page.evaluate(async () => (await fetch('/ui/plan/picture?plan=1')).status)
  t.equal(status, 404)
  await signOut(stage)
  t.notMatch(daemon.output(), /internal error|unhandled/i)
}

async function refusedPictures(t: Test, stage: Stage): Promise<void> {
  const { page, visit, audit } = stage
  await signIn(stage, 'ada')
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
  await visit('plan', 'edit', 'new')
  const send = (name: string, buffer: Buffer) =>
    page.locator('input[type="file"]').setInputFiles({ name, mimeType: 'image/png', buffer })
  await send('plan.png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>top.hurt = 1</script></svg>'))
  await page.locator('.err', { hasText: 'An SVG is a document that may run scripts' }).waitFor()
  await audit(t, 'plan-refused')
  await send('plan.png', Buffer.from('%PDF-1.7'))
  await page.locator('.err', { hasText: 'This is a PDF' }).waitFor()
  t.equal(await page.evaluate('"hurt" in window'), false)
  await signOut(stage)
}

async function mustChange(t: Test, stage: Stage): Promise<void> {
  const { page, audit } = stage
  await signIn(stage, 'mona')
  await page.getByRole('heading', { name: 'Choose a new password' }).waitFor()
  await audit(t, 'must-change')
  await page.getByLabel('Present password').fill('wrong one')
  await page.getByLabel('New password').fill('short')
  await page.keyboard.press('Enter')
  await page.locator('.err').first().waitFor()
  await audit(t, 'must-change-refused', 'unpictured')
  await page.getByLabel('Present password').fill(PASSWORD)
  await page.getByLabel('New password').fill('another long one')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
  await signOut(stage)
  await signIn(stage, 'mona', 'another long one')
  await page.getByRole('heading', { name: 'Classroom 1' }).waitFor()
}

async function ownPassword(t: Test, stage: Stage): Promise<void> {
  const { page, visit, audit } = stage
  await visit('account')
  await page.getByRole('heading', { name: 'Change password' }).waitFor()
  await audit(t, 'account')
  await page.getByLabel('Present password').fill('not this one')
  await page.getByLabel('New password').fill('yet another one')
  await page.keyboard.press('Enter')
  await page.locator('.err', { hasText: 'This is not the present password.' }).waitFor()
  await audit(t, 'account-refused', 'unpictured')
  await page.getByLabel('Present password').fill('another long one')
  await page.keyboard.press('Enter')
  await page.getByText('Your password is changed.').waitFor()
  await until('the new password is no longer in its field', async () =>
    page
      .getByLabel('New password')
      .inputValue()
      .then((text) => text === ''),
  )
}
