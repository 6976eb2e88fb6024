/** Fifty encoders by fifty decoders in a real browser: by mouse, keyboard and touch, and what each costs. */
import type { CDPSession } from 'playwright-core'
import type { Test } from 'tap'
import { until } from '#kit/test/until.ts'
import { countIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { plays, type Site, sends, startSite } from './fake-site.ts'

const MANY = 50

/** Cost of one step to the page. */
export interface Cost {
  /** Time spent in scripts, styles and layout. */
  ms: number
  /** Number of layouts. */
  layouts: number
}

/** How many steps of each kind are taken: a few show what happens, a mean needs more. */
export interface Steps {
  moves: number
  /** Diagonal ones, at most one less than there are boards of a kind. */
  arrows: number
  idleS: number
}

/** Judges the cost of one step. */
export type Judge = (t: Test, step: string, cost: Cost) => void

interface Stage extends Rig {
  site: Site
  cost: CDPSession
  steps: Steps
  judge: Judge
}

/** Skips itself without a browser. */
export async function fiftyByFifty(t: Test, steps: Steps, judge: Judge): Promise<void> {
  if (noBrowser) return void t.pass({ skip: noBrowser })
  const name = (what: string, at: number): string => `${what} ${String(at + 1).padStart(2, '0')}`
  const [first, ...decoders] = Array.from({ length: MANY }, (_, at) => plays(name('Room', at), at))
  const encoders = Array.from({ length: MANY }, (_, at) => sends(name('Source', at), at))
  if (!first) throw new Error('there is one')
  const site = await startSite(t, [first, ...encoders, ...decoders])
  const rig = await openRig(t, `${site.here.url}/matrix`)
  const cost = await rig.page.context().newCDPSession(rig.page)
  await cost.send('Performance.enable')
  await play<Stage>(t, { ...rig, site, cost, steps, judge }, [
    ['stands there with everybody asked', stands],
    ['follows the mouse over all of it', mouse],
    ['follows the arrows', arrows],
    ['routes far down to the right, with names in sight', far],
    ['polls again and again without a stutter', idle],
    ['moves under a thumb, as a list and as a grid', thumb],
  ])
}

/** Judges what the page spent per step. */
async function spends(t: Test, stage: Stage, steps: [name: string, count: number], work: () => Promise<void>) {
  const taken = async (): Promise<Cost> => {
    const { metrics } = await stage.cost.send('Performance.getMetrics')
    const of = (name: string): number => metrics.find((each) => each.name === name)?.value ?? 0
    const seconds = of('ScriptDuration') + of('LayoutDuration') + of('RecalcStyleDuration')
    return { ms: 1000 * seconds, layouts: of('LayoutCount') }
  }
  const [name, count] = steps
  const before = await taken()
  await work()
  const { ms, layouts } = await taken()
  const each = { ms: (ms - before.ms) / count, layouts: (layouts - before.layouts) / count }
  t.comment(`${each.ms.toFixed(1)} ms and ${each.layouts.toFixed(1)} layouts for ${name}`)
  stage.judge(t, name, each)
}

async function stands(_t: Test, { page, strangers }: Stage): Promise<void> {
  await page.getByText('50 of 50 routed decoders play.').waitFor()
  // Until its encoder answers, a stream has a column of its own. Counted in the page: a locator would fetch every one.
  const crosspoints = () => page.evaluate<number>(`document.querySelectorAll('.matrix td.pin button').length`)
  await until('every encoder has answered', async () => (await crosspoints()) === MANY * MANY)
  await countIs(page.locator('.matrix td.pin button[data-s="ok"]'), MANY)
  strangers.length = 0
}

async function mouse(t: Test, stage: Stage): Promise<void> {
  const { page } = stage
  const box = await page.locator('.matrix tbody').boundingBox()
  if (!box) throw new Error('there is a table')
  const { moves } = stage.steps
  await spends(t, stage, ['a move of the mouse', moves], async () => {
    for (let at = 0; at < moves; at++) await page.mouse.move(430 + (at % 20) * 40, box.y + 20 + (at % 9) * 40)
  })
  await countIs(page.locator('.matrix td.lit'), MANY, 'the column is lit')
  await countIs(page.locator('.matrix tbody tr.lit'), 1, 'and the row')
}

async function arrows(t: Test, stage: Stage): Promise<void> {
  const { page } = stage
  const { arrows } = stage.steps
  const before = MANY - 1 - arrows
  const row = page.locator('.matrix tr:has(.row-name)').nth(before)
  // The first column has the names.
  await row.locator('.row-name, td.pin button').nth(before).focus()
  await spends(t, stage, ['a step of the arrows', 2 * arrows], async () => {
    for (let at = 0; at < arrows; at++) {
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowRight')
    }
  })
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
  const { idleS: seconds } = stage.steps
  await spends(t, stage, ['a second in which 100 boards are asked', seconds], async () => {
    for (let at = 0; at < seconds; at++) {
      for (const board of site.boards.values()) {
        const { decoder } = board.state.status
        if (decoder) decoder.meters = { peak_db: [-9 - at], rms_db: [-18 - at] }
      }
      await page.waitForTimeout(1000)
    }
  })
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
  await spends(t, stage, ['a swipe of the list', 1], async () => void (await swipe(-2000)))
  await page.getByRole('heading', { name: 'Matrix' }).evaluate(() => scrollTo(0, 0))
  await page.getByText('Grid', { exact: true }).click()
  await spends(t, stage, ['two swipes of the grid', 1], async () => {
    await swipe(-600)
    await swipe(0, -900)
  })
  t.ok((await page.locator('.routing-scroll').evaluate((place) => place.scrollLeft)) > 300, 'it has moved to the side')
  stage.strangers.length = 0
}
