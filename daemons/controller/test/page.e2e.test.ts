/** The controller's pages in a real browser: sign-in, control of zones, and administration. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, focusIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { type FakeHouse, refused } from './fake-house.ts'
import { changes } from './harbour-changes.ts'
import { harbourHouse } from './harbour-house.ts'
import { serveUi } from './ui-server.ts'

interface Stage extends Rig {
  house: FakeHouse
}

t.test('the pages of a controller', { skip: noBrowser }, async (t) => {
  const house = harbourHouse()
  const { url } = await serveUi(t, house, { pages: true })
  const rig = await openRig(t, url, { pictures: 'controller' })
  await play<Stage>(t, { ...rig, house }, [
    ['signs in by password and mailed code, and says what is wrong at each step', signIn],
    ['shows zones by room with what they do, as it changes', zones],
    ['sends the last position of a moved control, and says at the zone what was refused', command],
    ['selects the source of a sound zone, and follows what it plays', sound],
    ['shows what cameras see while they are in sight, or why it does not', cameras],
    ['runs a macro and shows the result', macro],
    ['shows what waits, names the row that does not fit, and applies all', pending],
    ['shows the devices that are away first, and why', devices],
    ['finds refused calls and shows their reasons in plain words', audit],
    ['shows what runs next, and what does not run with the reason', schedule],
    ['switches the REST API, and says that it waits for a restart', rest],
    ['asks to sign in again over the page, and ends at sign-out', again],
    ['signs in a user who was handed over, and says what to do on an empty page', handoff],
  ])
})

async function signIn(t: Test, { page, audit, house }: Stage): Promise<void> {
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.locator('.plate', { hasText: 'Harbour House' }).waitFor()
  await audit(t, 'sign-in')
  await page.getByLabel('User name').fill('sam')
  await page.getByLabel('Password').fill('wrong')
  const before = await page.getByLabel('Password').boundingBox()
  await page.keyboard.press('Enter')
  await page.locator('.refusal', { hasText: 'No account that may sign in here' }).waitFor()
  t.same(await page.getByLabel('Password').boundingBox(), before, 'the field keeps the focus')
  await until('the focus is on the password', () => isFocused(page, 'password'))
  t.equal(await page.evaluate('getSelection().toString().length || document.activeElement.selectionEnd'), 5)
  await page.getByLabel('Password').fill('engine room')
  await page.keyboard.press('Enter')
  await page.getByText('A code was mailed to s***@harbour.example.').waitFor()
  await page.getByText(/Good for another (5:00|4:5\d)\./).waitFor()
  t.ok(await page.getByRole('button', { name: /^New code in \d+ s$/ }).isDisabled())
  await focusIs(page, 'name', 'code')
  await audit(t, 'sign-in-code')
  await page.getByLabel('Code').fill('AAAAAA')
  await page.keyboard.press('Enter')
  await page.locator('.err', { hasText: 'not the code of the newest mail' }).waitFor()
  await focusIs(page, 'name', 'code')
  await page.getByLabel('Code').fill('k7m pq2')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Lobby' }).waitFor()
  const kept = await page.context().cookies()
  t.match(kept, [{ name: 'svc_controller', httpOnly: true, sameSite: 'Strict', path: '/' }])
  t.notOk((await page.content()).includes([...house.sessions.keys()][0] ?? '-'))
  t.equal(await page.evaluate('document.cookie + sessionStorage.length + localStorage.length'), '00')
}

const isFocused = async (page: Page, name: string) =>
  (await page.evaluate("document.activeElement.getAttribute('name')")) === name

const tile = ({ page }: Stage, name: string) =>
  page.locator('.tile', { has: page.getByRole('heading', { name, exact: true }) })

async function zones(t: Test, stage: Stage): Promise<void> {
  const { page, house, audit } = stage
  t.same(await page.locator('.room h2').allTextContents(), ['Bar Ground floor', 'Lobby Ground floor', 'Not in a room'])
  await page.getByText('2 of 8 zones are unknown.').waitFor()
  await tile(stage, 'Window blinds')
    .getByText(/No contact since \d\d:\d\d, 26\smin ago\./)
    .waitFor()
  await tile(stage, 'Boiler').getByText('Not heard since').waitFor()
  await tile(stage, 'Heat').getByText('20.9').waitFor()
  await audit(t, 'zones')
  const before = await tile(stage, 'Ceiling').boundingBox()
  house.report(1, { level: 25 })
  await tile(stage, 'Ceiling').locator('.val', { hasText: '25' }).waitFor()
  house.report(1, { state: 'off', level: 0 })
  await tile(stage, 'Ceiling').locator('.val', { hasText: 'Off' }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Ceiling: Off' }).getAttribute('aria-pressed'), 'true')
  t.same(await tile(stage, 'Ceiling').boundingBox(), before, 'nothing moves when a value changes')
  house.reportDevice(3, { state: 'online' })
  house.report(4, { state: 'open' })
  await page.getByText('1 of 8 zones is unknown.').waitFor()
  await page.locator('#main').focus()
  await page.keyboard.press('ArrowDown')
  await focusIs(page, 'aria-label', 'Counter: Off')
  await page.keyboard.press('ArrowDown')
  await focusIs(page, 'aria-label', 'Music: volume')
  await page.locator('#main').focus()
  await page.keyboard.press('/')
  await page.keyboard.type('bar mus')
  await page.locator('.tile').nth(1).waitFor({ state: 'detached' })
  t.equal(await page.locator('.tile h3').textContent(), 'Music')
  await page.getByLabel('Filter rooms and zones').fill('cellar')
  await page.getByText('No room and no zone matches cellar').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.tile').nth(7).waitFor()
}

async function command(t: Test, stage: Stage): Promise<void> {
  const { page, house, audit } = stage
  const slider = page.getByRole('slider', { name: 'Counter: level' })
  const before = await tile(stage, 'Counter').boundingBox()
  await slider.evaluate((input: HTMLInputElement) => {
    for (let level = 1; level <= 70; level++) {
      input.value = String(level)
      input.dispatchEvent(new Event('input', { bubbles: true }))
    }
  })
  await tile(stage, 'Counter').locator('.val', { hasText: '70' }).waitFor()
  await until('the last level is sent', () => JSON.stringify(house.asked.at(-1) ?? {}).includes('70'))
  t.same(house.asked.at(-1)?.body, { zone_id: 2, command: 'level', args: { level: 70 } })
  t.ok(house.asked.length <= 10, `${house.asked.length} commands for 70 moves`)
  house.report(2, { state: 'on', level: 70 })
  house.answers.push({ status: 200, body: { json: { success: false, error: 'driver_timeout' } }, reason: null })
  await page.getByRole('button', { name: 'Counter: Off' }).click()
  await tile(stage, 'Counter').getByRole('alert').getByText('Counter does not answer. Try again.').waitFor()
  await tile(stage, 'Counter').locator('.val', { hasText: '70' }).waitFor()
  t.same(await tile(stage, 'Counter').boundingBox(), before, 'the message has its place already')
  house.answers.push(refused(403, 'unauthorized', 'scope_denied'))
  await page.getByRole('button', { name: 'Window blinds: Stop' }).click()
  await tile(stage, 'Window blinds').getByText('Your role does not allow this here.').waitFor()
  await page.getByRole('button', { name: 'Heat: warmer' }).click()
  await page.getByRole('button', { name: 'Heat: warmer' }).click()
  await until('the setpoint is sent', async () => JSON.stringify(house.asked.at(-1)?.body).includes('22.5'))
  await audit(t, 'zones-refused')
  await page.setViewportSize({ width: 390, height: 844 })
  await stage.visit('zones', 'room', '11')
  await page.getByRole('heading', { name: 'Lobby' }).waitFor()
  for (const control of await page.locator('.ctl button, .ctl input').all()) {
    const box = await control.boundingBox()
    t.ok(
      box && box.height >= 44 && box.width >= 44,
      `${await control.getAttribute('aria-label')} can be hit by a thumb`,
    )
  }
  await stage.visit('zones')
  await page.setViewportSize({ width: 1280, height: 800 })
}

async function sound(t: Test, stage: Stage): Promise<void> {
  const { page, house, audit } = stage
  const playing = (id: number | null) => house.change('av_zone', [{ id: 1, zone_id: 5, source_id: id, max_volume: 60 }])
  playing(1)
  house.change('av_source', [
    { id: 1, name: 'Radio', position: 1 },
    { id: 2, name: 'Stage', position: 2 },
  ])
  const source = page.getByRole('combobox', { name: 'Music: source' })
  await source.waitFor()
  t.same(await source.locator('option').allTextContents(), ['Nothing', 'Radio', 'Stage'])
  t.equal(await source.inputValue(), '1')
  t.equal(await page.getByRole('slider', { name: 'Music: volume' }).getAttribute('max'), '60', 'its limit')
  await audit(t, 'zones-sound', 'unpictured')
  await source.selectOption({ label: 'Stage' })
  await until('the source is sent', async () => JSON.stringify(house.asked.at(-1)?.body).includes('source'))
  t.same(house.asked.at(-1)?.body, { zone_id: 5, command: 'source', args: { source: 2 } })
  playing(2)
  house.report(5, { source: 'Stage' })
  await tile(stage, 'Music').getByText('Plays · Stage').waitFor()
  t.equal(await source.inputValue(), '2')
  await source.selectOption({ label: 'Nothing' })
  await until('the stop is sent', async () => JSON.stringify(house.asked.at(-1)?.body).includes('stop'))
  playing(null)
  house.report(5, { source: '239.69.1.3:5004' })
  await source.locator('option:checked', { hasText: '239.69.1.3:5004' }).waitFor({ state: 'attached' })
  house.report(5, { state: 'stopped' })
  await source.locator('option:checked', { hasText: 'Nothing' }).waitFor({ state: 'attached' })
}

/** A picture that the browser makes itself. */
const yard = (page: Page, sky: string) =>
  page.evaluate<string>(`(() => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 360 })
    const pen = canvas.getContext('2d')
    for (const [colour, y] of [['${sky}', 0], ['#8a8d91', 150], ['#5d6166', 260]]) { pen.fillStyle = colour; pen.fillRect(0, y, 640, 360) }
    pen.fillStyle = '#b8452f'; pen.fillRect(230, 170, 170, 90)
    return canvas.toDataURL('image/jpeg', 0.8).split(',')[1]
  })()`)

async function cameras(t: Test, stage: Stage): Promise<void> {
  const { page, house, audit } = stage
  const before = [...(house.tables.get('zone') ?? [])]
  const camera = { type: 'camera', device_id: 1, zone_group_id: 11 }
  house.change('zone', [
    ...before,
    { ...camera, id: 20, name: 'Yard', position: -3 },
    { ...camera, id: 21, name: 'Safe', position: -2 },
    { ...camera, id: 22, name: 'Old camera', position: -1 },
  ])
  for (const id of [20, 21, 22]) house.zones.set(id, { state: 'recording' })
  house.stills.set(20, Buffer.from(await yard(page, '#9cc4e4'), 'base64'))
  house.stills.set(21, 'There is no picture of this camera: its recorder does not answer.')
  await stage.visit('zones', 'room', '11')
  await page.reload()
  const picture = page.getByRole('img', { name: 'Yard, as its camera sees it' })
  await picture.waitFor()
  await tile(stage, 'Safe').getByText('its recorder does not answer').waitFor()
  await audit(t, 'zones-cameras')
  const first = await picture.getAttribute('src')
  house.stills.set(20, Buffer.from(await yard(page, '#20304a'), 'base64'))
  await until('a newer one is shown', async () => (await picture.getAttribute('src')) !== first)
  house.stills.set(20, 'There is no picture of this camera: its recorder is not connected.')
  await tile(stage, 'Yard').getByText('its recorder is not connected').waitFor()
  await countIs(picture, 0, 'no old picture is left standing')
  await countIs(tile(stage, 'Old camera').locator('.still'), 0, 'a picture of a zone that is no camera of a recorder')
  // So low that the last tile is out of sight, while the first are asked for again and again.
  await page.setViewportSize({ width: 1280, height: 300 })
  house.change('zone', [
    ...before,
    { ...camera, id: 23, name: 'Loft', zone_group_id: null, position: 9 },
    { ...camera, id: 20, name: 'Yard', zone_group_id: 12, position: 0 },
  ])
  house.stills.set(20, Buffer.from(await yard(page, '#9cc4e4'), 'base64'))
  house.stills.set(23, 'There is no picture of this camera: its recorder is not connected.')
  await stage.visit('zones')
  await page.reload()
  await page.getByRole('heading', { name: 'Yard' }).scrollIntoViewIfNeeded()
  await picture.waitFor()
  const asks = (id: number) => house.lookedAt.filter((each) => each === id).length
  const known = asks(20)
  await until('what is in sight is asked for again', () => asks(20) >= known + 2)
  t.equal(asks(23), 0, 'what is out of sight is not')
  await page.getByRole('heading', { name: 'Loft' }).scrollIntoViewIfNeeded()
  await until('it is once it is in sight', () => asks(23) > 0)
  house.stills.clear()
  house.change('zone', before)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.reload()
  await page.getByText('of 8 zones').waitFor()
}

async function macro(_t: Test, { page, house }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Run Close down' }).click()
  await page.getByText(/Ran, ended at \d\d:\d\d:\d\d\./).waitFor()
  house.answers.push({ status: 200, body: { json: { success: false, error: 'step 2 failed' } }, reason: null })
  await page.getByRole('button', { name: 'Run Flush the pipes' }).click()
  await page.getByText('Not done: step 2 failed.').waitFor()
}

async function pending(t: Test, { page, house, visit, audit }: Stage): Promise<void> {
  await visit('pending')
  await page.getByText('No changes wait').waitFor()
  house.pending = changes
  await page.getByText('3 changes wait.').waitFor()
  await page.getByRole('link', { name: 'Pending 3' }).waitFor()
  await page.getByText('a new secret').waitFor()
  await audit(t, 'pending')
  await page.getByRole('button', { name: 'Apply all' }).click()
  await page.getByText('The device it names is gone.').waitFor()
  await page.getByText('Nothing was applied.').waitFor()
  await audit(t, 'pending-refused', 'unpictured')
  house.pending = changes.slice(0, 2)
  await page.getByText('2 changes wait.').waitFor()
  await page.getByRole('button', { name: 'Discard all' }).click()
  await page.getByRole('button', { name: 'Keep changes' }).click()
  await page.getByRole('button', { name: 'Apply all' }).click()
  await page.getByText('2 changes are applied.').waitFor()
  await page.getByText('Nothing is pending.').waitFor()
  await focusIs(page, 'id', 'main')
  await page.getByRole('button', { name: 'Undo the last Apply all (2 changes)' }).click()
  await page.getByText('2 changes wait.').waitFor()
  await page.getByRole('button', { name: 'Apply all' }).click()
  await page.getByText('Nothing is pending.').waitFor()
}

async function devices(t: Test, { page, house, visit, audit }: Stage): Promise<void> {
  house.reportDevice(3, { state: 'offline', error: 'no route', lastSeenAt: Date.now() - 60_000 })
  await visit('devices')
  await page.getByText('1 of 4 devices is away.').waitFor()
  await page.locator('.verdict', { hasText: 'Blind bus: last heard' }).getByText('no route').waitFor()
  t.equal(await page.locator('.rows tbody .name').first().textContent(), 'Blind bus')
  await audit(t, 'devices')
  house.reportDevice(3, { state: 'online', error: null, lastSeenAt: Date.now() })
  await page.getByText('1 of 4 devices was not heard yet.').waitFor()
  await page.getByLabel('Filter devices').fill('heat')
  await page.locator('.rows tbody tr').nth(1).waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
}

async function audit(t: Test, { page, house, visit, audit: look }: Stage): Promise<void> {
  await house.parts.audit.add({
    at: Date.now(),
    requestType: 'rest_api',
    method: 'POST',
    path: '/api/control/command',
    status: 403,
    elapsedMs: 2,
    clientIp: '10.20.4.40',
    userId: 9,
    username: 'bms',
    granted: false,
    reason: 'scope_denied',
    target: 'zone 1',
    runId: null,
    facts: { action: 'level 40 on "Ceiling"', outcome: 'refused', detail: null },
  })
  await house.parts.audit.add({
    ...{ at: Date.now(), requestType: 'ui', method: 'POST', path: '/ui/command', status: 200, elapsedMs: 5012 },
    ...{
      clientIp: '10.20.4.41',
      userId: 2,
      username: 'ada',
      granted: true,
      reason: null,
      target: 'zone 4',
      runId: null,
    },
    facts: { action: 'close on "Window blinds"', outcome: 'failed', detail: 'driver_timeout: no answer within 5 s' },
  })
  await visit('audit')
  const outOfScope = page.getByRole('button', { name: 'bms asked Ceiling for level 40: refused, out of scope.' })
  await outOfScope.waitFor()
  await page.getByRole('button', { name: 'Window blinds refused: no answer within 5 s. ada asked' }).waitFor()
  await page.getByRole('cell', { name: 'wrong name or password' }).waitFor()
  await outOfScope.click()
  await page.getByText('The zone or device is on no UI that the roles allow.').waitFor()
  await page.locator('.facts dd', { hasText: '10.20.4.40' }).waitFor()
  await look(t, 'audit')
  await page.getByLabel('Filter by reason').selectOption({ label: 'wrong code' })
  await outOfScope.waitFor({ state: 'detached' })
  await page.getByRole('cell', { name: 'wrong code' }).waitFor()
  await page.getByLabel('Filter by user').fill('nobody of that name')
  await page.getByText('No call matches this choice').waitFor()
  await look(t, 'audit-none')
  await page.getByRole('button', { name: 'Show all calls' }).click()
  await focusIs(page, 'id', 'main')
  await page.getByRole('cell', { name: 'looked at zones' }).first().waitFor()
  await page.getByLabel('Filter by zone').fill('ceil')
  await page.getByLabel('Filter by time').selectOption({ label: 'from … until …' })
  const at = (minutes: number) => {
    const parts = { timeZone: 'Europe/Amsterdam', dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23' } as const
    return new Intl.DateTimeFormat('sv-SE', parts).format(Date.now() + minutes * 60_000).replace(' ', 'T')
  }
  await page.getByText('Time of the building, Europe/Amsterdam.').waitFor()
  await page.getByLabel('From', { exact: true }).fill(at(-60))
  await page.getByLabel('Until', { exact: true }).fill(at(-30))
  await page.getByText('No call matches this choice').waitFor()
  await page.getByLabel('Until', { exact: true }).fill(at(-90))
  await page.getByText('Until lies before From').waitFor()
  await page.getByLabel('Until', { exact: true }).fill(at(0))
  await outOfScope.waitFor()
  await look(t, 'audit-until')
  await page.getByText('Done', { exact: true }).click()
  await page.getByLabel('Filter by zone').fill('')
  await page.getByLabel('Filter by user').fill('sam')
  await page.getByRole('cell', { name: 'sam signed in' }).first().waitFor()
}

async function schedule(t: Test, { page, house, visit, audit: look }: Stage): Promise<void> {
  const row = (id: number, columns: object) => ({ id, created_at: 0, updated_at: 0, macro_id: 5, ...columns })
  house.schedules = [
    { row: row(1, { name: 'Closing', kind: 'at' }), nextAt: Date.now() + 3_600_000, lastAt: null, flaw: null },
    { row: row(2, { name: 'Dusk', kind: 'sunset' }), nextAt: null, lastAt: null, flaw: 'the site has no latitude' },
  ]
  await visit('schedule')
  await page.getByText('1 schedule or trigger does nothing.').waitFor()
  await page.getByText(/^Next: Closing, /).waitFor()
  await page.getByText('the site has no latitude').waitFor()
  await page.getByText('No triggers.').waitFor()
  await look(t, 'schedule', 'unpictured')
  house.schedules = []
  await page.getByRole('button', { name: 'Read again' }).click()
  await page.getByText('The building does nothing by itself.').waitFor()
  await countIs(page.locator('table'), 0)
}

async function rest(t: Test, { page, house, visit, audit: look }: Stage): Promise<void> {
  await visit('system')
  const flip = page.getByRole('switch', { name: 'Other systems may use the REST API' })
  const box = await flip.boundingBox()
  await flip.click()
  await page.getByText('Set to off; until the controller restarts it stays on').waitFor()
  t.same(house.rest, { isSet: false, isRunning: true })
  t.same(await flip.boundingBox(), box, 'the switch keeps the focus')
  await look(t, 'system')
  await flip.click()
  await page.getByText('It runs, as it is set.').waitFor()
}

async function again(t: Test, { page, house, visit, audit: look }: Stage): Promise<void> {
  await visit('zones')
  house.sessions.clear()
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await look(t, 'sign-in-again', 'unpictured')
  t.equal(await page.getByLabel('User name').inputValue(), 'sam')
  await page.getByLabel('User name').fill('ada')
  await page.getByLabel('Password').fill('front desk')
  await page.keyboard.press('Enter')
  await page.getByText('of 5 zones').waitFor()
  t.equal(
    house.records.filter(({ path, username }) => path === '/ui/zones' && username === 'ada').length,
    1,
    'asked once',
  )
  await countIs(page.getByRole('link', { name: 'Audit' }), 0, 'staff has no admin pages')
  await page.getByText('Only elevated roles command this.').or(page.getByText('Not heard since')).first().waitFor()
  await visit('account')
  await page.getByText('no: sees the zones of its UIs').waitFor()
  await look(t, 'account', 'unpictured')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same(await page.context().cookies(), [])
}

async function handoff(t: Test, { page, house, audit: look }: Stage): Promise<void> {
  house.nonces.set('n'.repeat(48), 'sam')
  house.change('zone', [])
  house.change('macro', [])
  const url = new URL(page.url()).origin
  await page.context().addCookies([{ name: 'svc_handoff', value: 'n'.repeat(48), url, httpOnly: true }])
  await page.goto(url)
  await page.getByText('This building has no zones yet').waitFor()
  await page.getByText('plantroom controller import FILE').waitFor()
  t.notOk((await page.context().cookies()).some(({ name }) => name === 'svc_handoff'))
  await look(t, 'zones-none')
}
