/** Fifty encoders by fifty decoders in a real browser: by mouse, by keyboard and by thumb, with what it costs. */
import type { CDPSession } from 'playwright-core'
import t, { type Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { plays, type Site, sends, startSite } from './fake-site.ts'

const MANY = 50
/** Script, styles and layout of one step of the hand: a third of what a hand feels, on a machine that does other things too. */
const STEP_MS = 33

interface Stage extends Rig {
  site: Site
  cost: CDPSession
}

t.test('fifty by fifty', { skip: noBrowser, timeout: 120_000 }, async (t) => {
  const name = (what: string, at: number): string => `${what} ${String(at + 1).padStart(2, '0')}`
  const [first, ...decoders] = Array.from({ length: MANY }, (_, at) => plays(name('Room', at), at))
  const encoders = Array.from({ length: MANY }, (_, at) => sends(name('Source', at), at))
  if (!first) throw new Error('there is one')
  const site = await startSite(t, [first, ...encoders, ...decoders])
  const rig = await openRig(t, `${site.here.url}/matrix`)
  const cost = await rig.page.context().newCDPSession(rig.page)
  await cost.send('Performance.enable')
  await play<Stage>(t, { ...rig, site, cost }, [
    ['stands there with everybody asked', stands],
    ['follows the mouse over all of it', mouse],
    ['follows the arrows', arrows],
    ['routes far down to the right, with names in sight', far],
    ['is asked anew again and again without a stutter', idle],
    ['moves under a thumb, as a list and as a grid', thumb],
  ])
})

/** Milliseconds that scripts, styles and layout took meanwhile. */
async function spent({ cost }: Stage, work: () => Promise<void>): Promise<number> {
  const taken = async (): Promise<number> => {
    const { metrics } = await cost.send('Performance.getMetrics')
    const of = (name: string): number => metrics.find((each) => each.name === name)?.value ?? 0
    return 1000 * (of('ScriptDuration') + of('LayoutDuration') + of('RecalcStyleDuration'))
  }
  const before = await taken()
  await work()
  return (await taken()) - before
}

async function stands(t: Test, { page, strangers }: Stage): Promise<void> {
  const crosspoints = page.locator('.matrix td.pin button')
  await page.getByText('50 of 50 routed decoders play.').waitFor()
  // A stream whose encoder has not answered yet stands in a column of its own.
  await until('every encoder has answered', async () => (await crosspoints.count()) === MANY * MANY)
  t.equal(await page.locator('.matrix td.pin button[data-s="ok"]').count(), MANY)
  strangers.length = 0
}

async function mouse(t: Test, stage: Stage): Promise<void> {
  const { page } = stage
  const box = await page.locator('.matrix tbody').boundingBox()
  if (!box) throw new Error('there is a table')
  const moves = 40
  const ms = await spent(stage, async () => {
    for (let at = 0; at < moves; at++) await page.mouse.move(430 + (at % 20) * 40, box.y + 20 + (at % 9) * 40)
  })
  t.comment(`${(ms / moves).toFixed(1)} ms a move of the mouse`)
  t.ok(ms / moves < STEP_MS, `${(ms / moves).toFixed(1)} ms a move`)
  t.equal(await page.locator('.matrix td.lit').count(), MANY, 'the column is lit')
  t.equal(await page.locator('.matrix tbody tr.lit').count(), 1, 'and the row')
}

async function arrows(t: Test, stage: Stage): Promise<void> {
  const { page } = stage
  await page.locator('.matrix .row-name').first().focus()
  const ms = await spent(stage, async () => {
    for (let at = 0; at < MANY - 1; at++) {
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowRight')
    }
  })
  const steps = 2 * (MANY - 1)
  t.comment(`${(ms / steps).toFixed(1)} ms a step of the arrows`)
  t.ok(ms / steps < STEP_MS, `${(ms / steps).toFixed(1)} ms a step`)
  t.match(await page.evaluate('document.activeElement.getAttribute("aria-label")'), /^Source 49 to Room 50/)
}

async function far(t: Test, { page, site, strangers }: Stage): Promise<void> {
  await page.keyboard.press('Enter')
  await page.getByText('Room 50 now plays Source 49.').waitFor()
  t.equal(site.boards.get('Room 50')?.asked.at(-1)?.path, '/api/route')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Room 50 plays what it played before.').waitFor()
  for (const name of ['th[scope="row"]:has-text("Room 50")', 'thead th:has-text("Source 49")']) {
    const box = await page.locator(`.matrix ${name}`).boundingBox()
    t.ok(box && box.x >= 216 && box.y >= 0 && box.x + box.width <= 1280 && box.y < 800, `${name} is in sight`)
  }
  strangers.length = 0
}

async function idle(t: Test, stage: Stage): Promise<void> {
  const { page, site } = stage
  const seconds = 3
  const ms = await spent(stage, async () => {
    for (let at = 0; at < seconds; at++) {
      for (const board of site.boards.values()) {
        const { decoder } = board.state.status
        if (decoder) decoder.meters = { peak_db: [-9 - at], rms_db: [-18 - at] }
      }
      await page.waitForTimeout(1000)
    }
  })
  t.comment(`${(ms / seconds).toFixed(0)} ms of each second while 100 boards are asked`)
  t.ok(ms / seconds < 250, `${(ms / seconds).toFixed(0)} ms a second`)
  stage.strangers.length = 0
}

async function thumb(t: Test, stage: Stage): Promise<void> {
  const { page, cost } = stage
  await page.setViewportSize({ width: 390, height: 844 })
  const swipe = (yDistance: number, xDistance = 0) =>
    cost.send('Input.synthesizeScrollGesture', {
      x: 200,
      y: 500,
      yDistance,
      xDistance,
      gestureSourceType: 'touch',
      speed: 3000,
    })
  await page.locator('.matrix .row-name').first().waitFor()
  const list = await spent(stage, async () => void (await swipe(-2000)))
  await page.getByRole('heading', { name: 'Matrix' }).evaluate(() => scrollTo(0, 0))
  await page.getByText('Grid', { exact: true }).click()
  const grid = await spent(stage, async () => {
    await swipe(-600)
    await swipe(0, -900)
  })
  t.comment(`${list.toFixed(0)} ms for a swipe of the list, ${grid.toFixed(0)} ms for two of the grid`)
  t.ok(list < 500, `${list.toFixed(0)} ms for a swipe of the list`)
  t.ok(grid < 1000, `${grid.toFixed(0)} ms for two of the grid`)
  t.ok((await page.locator('.routing-scroll').evaluate((place) => place.scrollLeft)) > 300, 'it has moved to the side')
  stage.strangers.length = 0
}
