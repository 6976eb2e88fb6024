/** The recorder's pages in a browser: first run, cameras, one camera, playback, health. */
import { rename } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, focusIs, noBrowser, play, type Scene } from '#kit/test/web/page-rig.ts'
import { timeOf } from '#kit/web/numbers.ts'
import { LONG_MS } from './camera.ts'
import { admin } from './client.ts'
import { FPS } from './counting-film.ts'
import { cameraUser, openStage, pictureMoves, pictureNumber, type Stage } from './page-stage.ts'

t.test('the recorder on the page', { skip: noBrowser }, async (t) => {
  await play<Stage>(t, await openStage(t), scenes)
})

const scenes: Scene<Stage>[] = [
  ['makes the first administrator, and leads by the disk to the first camera', firstRun],
  ['says at its field what is wrong with an address, and adds a camera', addCamera],
  ['sees recording work, and ends the set-up', endOfSetUp],
  ['signs out, refuses a wrong password, and signs in', signIn],
  ['shows a camera as it is now, and how it is', oneCamera],
  ['shows the day, and a jump lands on the picture of that moment', jumps],
  ['shows a hole, says that nothing is there, and goes to the next footage', holes],
  ['says how much is kept, and what goes next', health],
  ['saves the journal as a file', journalFile],
  ['preserves a stretch, and says at its field what storage refuses', storage],
  ['says what is wrong with a disk once its folder is gone, and that it is back', lostDisk],
  ['makes an account for one camera, which sees and may no more', accounts],
  ['shows a viewer the camera, and nothing that is refused', viewer],
  ['makes a token, shows it once, and revokes it after asking', tokens],
  ['says since when a camera is away and why, and asks before it is removed', removal],
]

async function firstRun(t: Test, { audit, page }: Stage): Promise<void> {
  await page.getByRole('heading', { name: 'Who looks after this recorder?' }).waitFor()
  await page.getByLabel('Password', { exact: true }).fill('short')
  await page.getByRole('button', { name: 'Make administrator' }).click()
  await page.getByText('The password has 5 characters, at least 8 are needed.').waitFor()
  await audit(t, 'first-run')
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Make administrator' }).click()
  await page.getByText(/^Footage goes to .*-footage, where/).waitFor()
  await audit(t, 'set-up-disk')
  await page.getByRole('button', { name: 'Go on to cameras' }).click()
  await page.getByText('No cameras yet').waitFor()
  await audit(t, 'set-up-cameras')
  await page.getByRole('link', { name: 'Add by RTSP address' }).click()
  await page.getByRole('form', { name: 'New camera' }).waitFor()
  await page.getByText('No cameras yet').waitFor({ state: 'attached' })
  await audit(t, 'cameras-none')
}

async function addCamera(t: Test, { audit, camera, page }: Stage): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill('Front door')
  await page.getByLabel('RTSP address').fill('http://127.0.0.1/')
  await page.getByRole('button', { name: 'Add camera' }).click()
  await page.getByText('Expected rtsp://HOST[:PORT]/PATH.').waitFor()
  await focusIs(page, 'name', 'url')
  await audit(t, 'camera-new')
  await page.getByLabel('RTSP address').fill(camera.url)
  await page.getByLabel('User on the camera').fill(cameraUser.username)
  await page.getByLabel('Password on the camera').fill(cameraUser.password)
  await page.getByRole('button', { name: 'Add camera' }).click()
  await page.getByRole('heading', { name: 'Front door' }).waitFor()
  await page.getByText(/^Recording since/).waitFor()
}

async function endOfSetUp(t: Test, { audit, page, visit }: Stage): Promise<void> {
  const step = () => page.evaluate("fetch('/api/onboarding').then((reply) => reply.json())")
  t.same(await step(), { step: 'ai', required: true })
  await visit('health')
  await page.getByRole('link', { name: 'Go on with set-up' }).click()
  await page.getByText('Its footage is on the disk.').waitFor()
  await page.getByText('The camera is recorded.').waitFor()
  await audit(t, 'set-up-recording')
  await page.getByRole('link', { name: 'Back', exact: true }).click()
  await page.getByText('Front door is added', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Go on to recording' }).click()
  await page.getByRole('link', { name: 'Go on to events' }).click()
  await page.getByText('Nothing looks at the cameras.').waitFor()
  await audit(t, 'set-up-seeing')
  await page.getByText('Motion', { exact: true }).click()
  await page.getByText('The recorder looks for motion.').first().waitFor()
  await page.getByText('Off', { exact: true }).click()
  await page.getByRole('button', { name: 'End set-up' }).click()
  await page.locator('.wall .tile').waitFor()
  await countIs(page.getByRole('link', { name: 'Go on with set-up' }), 0)
  t.same(await step(), { step: 'complete', required: false })
}

async function signIn(t: Test, { audit, page }: Stage): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await audit(t, 'sign-in')
  await page.getByLabel('User name').fill(admin.username)
  await page.getByLabel('Password').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Password').fill(admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Cameras' }).first().waitFor()
}

async function oneCamera(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await visit('cameras')
  await page.getByText('The camera is recorded.').waitFor()
  await audit(t, 'cameras')
  await page.getByRole('link', { name: 'Front door', exact: true }).last().click()
  await pictureMoves(page)
  await page.getByText(/^Live, /).waitFor()
  await page.getByText(`288 × 192, ${FPS} pictures a second`).waitFor()
  await audit(t, 'camera')
}

/** Types a time and waits for its picture. @returns the number of the picture */
async function goTo(page: Stage['page'], atMs: number): Promise<number> {
  await page.getByPlaceholder(/\d\d:\d\d:\d\d/).fill(timeOf(atMs))
  await page.keyboard.press('Enter')
  let number: number | null = null
  const isShown = async () => {
    number = await pictureNumber(page, atMs)
    return number !== null
  }
  await until(`a picture of ${timeOf(atMs)}`, isShown, LONG_MS)
  return number ?? -1
}

/** Stretches of the only camera, as the page may ask for them. */
function stretchesOf(page: Stage['page']): Promise<{ start: number; end: number }[]> {
  return page.evaluate(`(async () => {
    const [{ id }] = await (await fetch('/api/cameras')).json()
    const window = 'from=' + (Date.now() - 3600e3) + '&to=' + (Date.now() + 3600e3)
    return (await (await fetch('/api/cameras/' + id + '/availability?' + window)).json()).ranges
  })()`)
}

/** What a step to the next picture takes, on a busy machine. */
const STEP_MS = 10_000

/** Presses the key for the next picture; once more where the page was still busy with what came before. */
async function stepOn(page: Page, from: number): Promise<boolean> {
  if ((await pictureNumber(page)) === from) await page.keyboard.press('.')
  const isOn = async () => (await pictureNumber(page)) === from + 1
  return await until('it is drawn', isOn, STEP_MS).then(
    () => true,
    () => false,
  )
}

async function jumps(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await visit('playback')
  await page.getByRole('slider', { name: 'The day' }).waitFor()
  await until('a picture', async () => (await pictureNumber(page)) !== null, LONG_MS)
  await page.getByRole('button', { name: 'Pause' }).click()
  const long = (all: { start: number; end: number }[]) => all.find(({ end, start }) => end - start > 20_000)
  await until('twenty seconds are kept', async () => long(await stretchesOf(page)) !== undefined, LONG_MS)
  const from = Math.ceil((long(await stretchesOf(page))?.start ?? 0) / 1000) * 1000
  const one = await goTo(page, from + 12_000)
  const other = await goTo(page, from + 3000)
  t.ok(Math.abs(one - other - 9 * FPS) <= 1, `pictures ${other} and ${one} are nine seconds apart`)
  t.match(await page.evaluate('location.hash'), /\/\d{13}$/, 'the address names the moment')
  await page.locator('#main').focus()
  await until('one picture on', () => stepOn(page, other), LONG_MS)
  await page.keyboard.press('ArrowRight')
  await until(
    'ten seconds on',
    async () => Math.abs(((await pictureNumber(page)) ?? 0) - other - 1 - 10 * FPS) <= 1,
    LONG_MS,
  )
  await audit(t, 'playback')
  const [, id = ''] = /playback\/(\w+)/.exec(await page.evaluate<string>('location.hash')) ?? []
  for (const moment of [from + 12_000, from + 3000, from + 3000]) {
    await visit('playback', id, String(moment))
    const isFilm = async () => (await pictureNumber(page, moment)) !== null
    await until(`the film of ${timeOf(moment)}, which the address names, whatever was shown`, isFilm, LONG_MS)
    await goTo(page, from + 6000)
  }
}

async function holes(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await visit('cameras')
  await page.getByRole('link', { name: 'Front door', exact: true }).last().click()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByLabel('New RTSP address').fill('rtsp://169.254.169.254/')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'url')
  await audit(t, 'camera-edit')
  await page.getByLabel('New RTSP address').fill('')
  await page.getByText('Use this camera').click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^Off since/).waitFor()
  await page.getByText('The last picture is of').waitFor()
  await audit(t, 'camera-off')
  const ended = (await stretchesOf(page)).at(-1)?.end ?? 0
  await until('a hole of four seconds', () => Date.now() > ended + 6000)
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByText('Use this camera').click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^Recording since/).waitFor()
  await until('footage behind the hole', async () => ((await stretchesOf(page)).at(-1)?.start ?? 0) > ended, LONG_MS)
  await page.getByRole('link', { name: 'Playback' }).last().click()
  await page.getByRole('slider', { name: 'The day' }).waitFor()
  await page
    .getByLabel('Timeline')
    .getByText(/\d holes?\./)
    .waitFor()
  await page.getByPlaceholder(/\d\d:\d\d:\d\d/).fill(timeOf(ended + 2000))
  await page.keyboard.press('Enter')
  await page.getByText(`Nothing is recorded at ${timeOf(ended + 2000)}`).waitFor()
  await audit(t, 'playback-hole')
  const next = (await stretchesOf(page)).find(({ start }) => start > ended)?.start ?? 0
  await page.locator('#main').focus()
  await page.keyboard.press('n')
  await until('the first picture behind the hole', async () => (await pictureNumber(page)) !== null, LONG_MS)
  t.equal(await page.evaluate('Number(location.hash.split("/").at(-1))'), next)
}

async function health(t: Test, { audit, visit, page }: Stage): Promise<void> {
  await visit('health')
  await page.getByText('All that cameras sent is kept.').waitFor()
  await audit(t, 'health')
}

async function journalFile(t: Test, { page, visit }: Stage): Promise<void> {
  await visit('journal')
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  t.match(saved.suggestedFilename(), /^journal-.*\.ndjson$/)
}

async function storage(t: Test, { audit, page, recorder, visit }: Stage): Promise<void> {
  await visit('playback')
  await page.getByRole('button', { name: 'Preserve it' }).click()
  await page.getByText('This minute stays until it is released.').waitFor()
  await visit('storage')
  await page.getByText('The disk takes footage.').waitFor()
  await page.getByLabel('Days', { exact: true }).fill('0')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'keepDays')
  await page.getByLabel('Days', { exact: true }).fill('20')
  await page.getByLabel('Free on each disk').fill('1000')
  await page.getByText('This deletes footage').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^Keeping .* free deletes about .* It cannot be brought back/).waitFor()
  await audit(t, 'storage-deletes')
  await page.getByRole('button', { name: 'Keep footage' }).click()
  await page.getByRole('link', { name: 'Wall' }).first().click()
  await page.getByText('Leave without saving?').waitFor()
  await page.getByRole('button', { name: 'Stay here' }).click()
  await page.getByLabel('Free on each disk').fill('0')
  await page.getByLabel('All footage together').fill('900')
  await page.getByLabel('Front door', { exact: true }).fill('40')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('How long footage is kept is saved.').waitFor()
  const kept = await page.evaluate("fetch('/api/storage/settings').then((reply) => reply.json())")
  t.match(kept, { keepDays: 20, keepBytes: 900e9, freeBytes: 0 })
  t.same(Object.values((kept as { cameras: object }).cameras), [40])

  await page.getByLabel('Folder', { exact: true }).fill('footage')
  await page.getByRole('button', { name: 'Add folder' }).click()
  await page.locator('.err').waitFor()
  await page.getByLabel('Folder', { exact: true }).fill(`${recorder.stateFolder}/footage`)
  await page.getByRole('button', { name: 'Add folder' }).click()
  await page.getByText('has to do with the state of the recorder').waitFor()
  await focusIs(page, 'name', 'folder')
  const second = `${recorder.stateFolder}-second`
  await page.getByLabel('Folder', { exact: true }).fill(second)
  await page.getByText('Begin there anew', { exact: true }).click()
  await page.getByRole('button', { name: 'Add folder' }).click()
  await page.getByRole('button', { name: `Remove ${second}` }).waitFor()
  await audit(t, 'storage')
  await page.getByRole('button', { name: `Remove ${second}` }).click()
  await page.getByRole('button', { name: 'Remove folder' }).click()
  await page.getByText(`${second} is no longer used.`).waitFor()
  await page.getByRole('button', { name: /^Release Front door/ }).click()
  await page.getByRole('button', { name: 'Release stretch' }).click()
  await page.getByText('Nothing is preserved').waitFor()
}

async function lostDisk(t: Test, { audit, page, recorder, visit }: Stage): Promise<void> {
  const folder = `${recorder.stateFolder}-footage`
  await visit('health')
  await page.getByText(/^written since/).waitFor()
  await rename(folder, `${folder}-pulled`)
  await page.getByText('Nothing is recorded: no disk takes footage.').waitFor()
  await page.getByText(`There is no disk of footage at ${folder}.`).first().waitFor()
  await audit(t, 'health-disk-away')
  await visit('storage')
  await page.getByText('Nothing is recorded: no disk takes footage.').waitFor()
  await rename(`${folder}-pulled`, folder)
  await page.getByText('The disk takes footage.').waitFor()
}

async function accounts(t: Test, { audit, page, recorder, visit }: Stage): Promise<void> {
  await visit('accounts')
  await page.getByText('admin is the only administrator.').waitFor()
  await page.getByRole('link', { name: 'New account' }).click()
  await page.getByLabel('User name').fill('night shift')
  await page.getByText('Sees every camera', { exact: true }).click()
  await page.getByLabel('Password', { exact: true }).fill('short')
  await page.getByRole('button', { name: 'Add account' }).click()
  await page.locator('.err').waitFor()
  await focusIs(page, 'name', 'password')
  await audit(t, 'account-new')
  await page.getByLabel('Password', { exact: true }).fill(admin.password)
  await page.getByRole('button', { name: 'Add account' }).click()
  await page.locator('tr', { hasText: 'night shift' }).waitFor()
  await audit(t, 'accounts')

  const { cookie } = await signedInAs(recorder.url, { username: 'night shift', password: admin.password })
  const seen = await fetch(`${recorder.url}/api/cameras`, { headers: { cookie } })
  t.same(await seen.json(), [], 'no camera was ticked')
  await page.getByRole('link', { name: 'night shift' }).click()
  await page.locator('form').getByText('Front door', { exact: true }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('tr', { hasText: 'night shift' }).filter({ hasText: 'Front door' }).waitFor()
  const again = await fetch(`${recorder.url}/api/cameras`, { headers: { cookie } })
  t.match(await again.json(), [{ name: 'Front door' }])
}

async function viewer(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await signInOnPage(page, { username: 'night shift', password: admin.password })
  await visit('cameras')
  await page.getByText('The camera is recorded.').waitFor()
  await countIs(page.getByRole('link', { name: 'Add camera' }), 0)
  await countIs(page.getByRole('link', { name: 'Health' }), 0)
  await page.getByRole('link', { name: 'Front door', exact: true }).last().click()
  await until('pictures move', async () => (await pictureNumber(page)) !== null, LONG_MS)
  await countIs(page.getByRole('link', { name: 'Edit' }), 0)
  await visit('playback')
  await until('a picture', async () => (await pictureNumber(page)) !== null, LONG_MS)
  await countIs(page.getByText('Save the next minute'), 0, 'it may not take footage out')
  await visit('accounts')
  await page.getByText('You are night shift, viewer.').waitFor()
  await audit(t, 'account-viewer')
  await signInOnPage(page, admin)
}

async function signInOnPage(page: Stage['page'], who: { username: string; password: string }): Promise<void> {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByLabel('User name').fill(who.username)
  await page.getByLabel('Password').fill(who.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText(`Signed in as ${who.username}`).waitFor()
}

/** Signs in as a browser does. */
async function signedInAs(url: string, who: { username: string; password: string }): Promise<{ cookie: string }> {
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/api/login`, { method: 'POST', headers, body: JSON.stringify(who) })
  const cookies = reply.headers.getSetCookie().filter((each) => /^svc_session=[^;]/.test(each))
  return { cookie: cookies.map((each) => each.split(';')[0]).join('; ') }
}

async function tokens(t: Test, { audit, page, recorder, visit }: Stage): Promise<void> {
  await visit('accounts')
  await page.getByRole('link', { name: 'New token' }).click()
  await page.getByLabel('Name', { exact: true }).fill('BMS')
  await page.getByRole('button', { name: 'Make token' }).click()
  const shown = page.getByLabel('Token', { exact: true })
  await shown.waitFor()
  const headers = { authorization: `Bearer ${await shown.inputValue()}` }
  const status = async () => (await fetch(`${recorder.url}/api/cameras`, { headers })).status
  t.equal(await status(), 200)
  await audit(t, 'token', 'unpictured')
  await page.getByRole('link', { name: 'I have kept it' }).click()
  await page.getByRole('button', { name: 'Revoke BMS' }).click()
  await page.getByRole('button', { name: 'Revoke token' }).click()
  await page.getByText('No tokens').waitFor()
  t.equal(await status(), 401)
}

async function removal(t: Test, { audit, camera, page, visit }: Stage): Promise<void> {
  await visit('cameras')
  await camera.end()
  await page.getByText('Front door is not recorded.').waitFor()
  await page.getByText(/^No contact since/).waitFor()
  await audit(t, 'cameras-lost')
  await page.getByRole('link', { name: 'Front door', exact: true }).last().click()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('button', { name: 'Keep camera' }).click()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('button', { name: 'Remove camera' }).click()
  await page.getByText('No cameras yet').waitFor()
  t.same(await page.evaluate("fetch('/api/cameras').then((reply) => reply.json())"), [])
}
