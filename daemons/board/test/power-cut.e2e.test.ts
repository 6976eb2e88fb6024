/** Two hundred boards that are killed while settings are being saved: what was acknowledged is there, and all of it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startBoard } from './running-board.ts'

const KILLS = 200
/** Boards that live side by side, each with a folder of its own. */
const LANES = 4
/** A board starts in a fraction of a second, four of them on a small machine that does other things in a few. */
const TIMEOUT_MS = 240_000
/** After the first form of a life; a save takes a few milliseconds, a restart that follows it some hundred. */
const LATEST_KILL_MS = 150

const sets = ['mdns.enabled=false', 'machine.restart_after_ms=60']

/** Settings that all say the same number: a mixture of two saves shows. */
function formOf(number: number): Record<string, string> {
  return {
    name: `Save ${number}`,
    port: String(1024 + number),
    link_ms: String(1 + number / 100),
    sap: String(number % 2),
  }
}

/** The number that settings say, or why they are no save of ours. */
function numberOf(settings: { name: string; port: number; link_ms: number; sap: boolean }): number | string {
  const number = settings.port - 1024
  const wanted = { name: `Save ${number}`, port: settings.port, link_ms: 1 + number / 100, sap: number % 2 === 1 }
  const { name, port, link_ms, sap } = settings
  return JSON.stringify({ name, port, link_ms, sap }) === JSON.stringify(wanted) ? number : JSON.stringify(settings)
}

/** One folder through many lives. */
async function lane(t: Test, kills: number): Promise<{ acknowledged: number; cutOff: number }> {
  const stateFolder = mkdtempSync(join(tmpdir(), 'power-cut-'))
  t.teardown(() => rmSync(stateFolder, { recursive: true, force: true }))
  let next = 1
  /** The last save that was acknowledged, undefined before the first. */
  let kept: number | undefined
  const tally = { acknowledged: 0, cutOff: 0 }

  for (let life = 0; life <= kills; life++) {
    const board = await startBoard(t, { sets, stateFolder })
    const { body } = await board.get('/api/config')
    const found = next === 1 || body.port === 5004 ? undefined : numberOf(body)
    // What was sent and not acknowledged may be there or not; what was acknowledged is, or something newer.
    const isGood =
      found === undefined ? kept === undefined : typeof found === 'number' && found >= (kept ?? 1) && found < next
    t.ok(isGood, `life ${life}: ${found ?? 'first settings'} after ${kept ?? 'nothing'} of ${next - 1}`)
    if (typeof found === 'number') kept = found
    if (life === kills) break
    let isDead = false
    const killed = new Promise<void>((resolve) =>
      setTimeout(async () => {
        isDead = true
        await board.stop('SIGKILL')
        resolve()
      }, Math.random() * LATEST_KILL_MS),
    )
    while (!isDead) {
      const number = next++
      const answer = await board.post('/api/config', formOf(number)).catch(() => undefined)
      if (answer?.status === 200) {
        kept = number
        tally.acknowledged++
      } else tally.cutOff++
      // Between its end and its start a restarting board takes no connection.
      if (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await killed
  }
  return tally
}

t.test('settings are always the old or the new, whole, however the board ends', { timeout: TIMEOUT_MS }, async (t) => {
  // Two hundred starts: what Node makes of the program is kept from one to the next, a third of the time.
  process.env.NODE_COMPILE_CACHE = t.testdir()
  await (await startBoard(t, { sets })).stop()
  const tallies = await Promise.all(Array.from({ length: LANES }, () => lane(t, KILLS / LANES)))
  const acknowledged = tallies.reduce((sum, tally) => sum + tally.acknowledged, 0)
  const cutOff = tallies.reduce((sum, tally) => sum + tally.cutOff, 0)
  t.comment(`${KILLS} kills, ${acknowledged} saves acknowledged, ${cutOff} cut off`)
  t.ok(acknowledged > KILLS / 4 && cutOff > KILLS / 4, 'both happened often')
})
