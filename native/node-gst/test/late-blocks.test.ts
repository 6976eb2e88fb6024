import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { gstMissing } from './gst-here.ts'

const skip = gstMissing()

/** Plays silence to nobody, and says for each line that it is sent how far it is. */
const PLAYER = `
  import { createInterface } from 'node:readline'
  import { createAudioClock, openPipeline } from '${import.meta.dirname}/../index.ts'
  const clock = createAudioClock()
  const onMessage = () => {}
  const pipeline = openPipeline('plantroomrtpsrc name=in ' + process.argv[1] + ' ! fakesink sync=false', { clock, realtimePriority: 0, onMessage })
  await pipeline.play()
  const figure = (name) => Number(pipeline.get('in', name))
  createInterface({ input: process.stdin }).on('line', () => {
    const atMs = Number(clock.read().monotonicNs / 1000n) / 1000
    console.log(JSON.stringify({
      atMs, blocks: figure('blocks'), skipped: figure('skipped-blocks'), jumps: figure('phase-jumps'), late: figure('late-blocks'),
    }))
  })
`

interface Figures {
  atMs: number
  blocks: number
  skipped: number
  jumps: number
  late: number
}

/** A player that can be held, and how far it is. @param settings of the element */
function startPlayer(t: Test, settings: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PLAYER, settings], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  async function figures(): Promise<Figures> {
    child.stdin.write('\n')
    const [line] = (await once(lines, 'line')) as [string]
    return JSON.parse(line) as Figures
  }
  async function standStill(ms: number): Promise<void> {
    child.kill('SIGSTOP')
    await sleep(ms)
    child.kill('SIGCONT')
    await sleep(100)
  }
  /** What is missing is made up for in a moment; on a busy machine a moment is longer. */
  async function caughtUp(from: Figures): Promise<Figures> {
    const isThere = (to: Figures) => Math.abs(made(from, to) - passed(from, to)) < 60
    for (let tries = 0; tries < 50; tries++) {
      const now = await figures()
      if (isThere(now)) return now
      await sleep(50)
    }
    return await figures()
  }
  return { figures, standStill, caughtUp }
}

const passed = (from: Figures, to: Figures) => Math.round(to.atMs - from.atMs)
const made = (from: Figures, to: Figures) => to.blocks + to.skipped - from.blocks - from.skipped

t.test('what a machine that stood still has missed is caught up, or left out and counted', { skip }, async (t) => {
  const { figures, standStill, caughtUp } = startPlayer(t, '')
  await figures()
  await sleep(100)
  const before = await figures()
  await standStill(120)
  const short = await caughtUp(before)
  await standStill(700)
  const long = await caughtUp(before)
  t.ok(Math.abs(made(before, short) - passed(before, short)) < 60, 'no block is missing', { before, short })
  t.ok(short.late - before.late + short.skipped - before.skipped >= 100, 'they were late')
  t.ok(long.skipped - short.skipped >= 500, 'what is over a quarter of a second is left out', { short, long })
  t.ok(long.jumps > short.jumps, 'and is a phase jump')
  t.ok(Math.abs(made(before, long) - passed(before, long)) < 60, 'and the count goes on with the clock', {
    before,
    long,
  })
})

t.test('how much is caught up can be set', { skip }, async (t) => {
  const { figures, standStill, caughtUp } = startPlayer(t, `most-behind-ns=${60_000_000_000}`)
  const before = await figures()
  await standStill(700)
  const after = await caughtUp(before)
  t.match(after, { skipped: 0, jumps: 0 })
  t.ok(after.blocks - before.blocks >= 700, 'every block was made', { before, after })
})
