/** The thread of MS/TP on real lines: ptys with simulated nodes at their other end. */
import t, { type Test } from 'tap'
import { plainLine } from '#kit/test/line/fake-line.ts'
import { until } from '#kit/test/until.ts'
import { openPty } from '#native/serial/index.ts'
import { readPresentValue, type SimulatedNode, SimulatedRing } from '../../../../scripts/sim/mstp-ring.ts'
import type { MstpHealth, MstpLine } from '../../core/mstp/mstp.ts'
import type { SeenBytes } from '../../core/mstp/node.ts'
import type { MstpSettings } from '../../core/mstp/settings.ts'
import { createMstpOpener } from '../../io/mstp-lines.ts'
import { encodeMstpFrame } from '../../wire/mstp/frame.ts'
import { settingsWith } from '../core/mstp/cable.ts'

const open = createMstpOpener({
  log: { info() {}, warning() {}, error() {} },
  checkPath: () => {},
  ...{ transitFrames: 256, realtimePriority: 0 },
})
const never = new AbortController().signal
const asking = (invokeId: number) => Uint8Array.from(Buffer.from(readPresentValue(invokeId).replaceAll(' ', ''), 'hex'))

/** On a busy machine a reply may be late, or two tokens meet: asked again, it comes. */
async function patient<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries === 20) throw error
    }
  }
}

async function lineWith(t: Test, nodes: readonly SimulatedNode[], settings: Partial<MstpSettings> = {}) {
  const pty = openPty()
  const ring = new SimulatedRing({ duplex: pty, nodes })
  const seen: SeenBytes[] = []
  const told: { health?: MstpHealth } = {}
  const line: MstpLine = await open({
    path: pty.path,
    line: { ...plainLine, baud: 76_800 },
    settings: settingsWith({ mac: 1, max_master: 10, ...settings }),
    onSeen: (list) => void seen.push(...list),
    onHealth(health) {
      told.health = health
    },
    onFault: () => {},
  })
  t.teardown(async () => {
    ring.stop()
    await line.close()
    await pty.close()
  })
  return { line, pty, ring, seen, told }
}

t.test('a node in the thread joins the ring, asks a device, and tells frames and health', async (t) => {
  const { line, seen, told } = await lineWith(t, [{ mac: 3 }, { mac: 6, manner: 'postponed', value: 4 }])
  await until('the ring is whole', () => told.health?.view.order.join() === '1,3,6')
  const ask = (destination: number) => line.send({ frameType: 5, source: 1, destination, data: asking(9) }, never)
  t.match(await patient(() => ask(3)), { reply: { source: 3, destination: 1 }, isPostponed: false })
  t.match(await patient(() => ask(6)), { reply: { source: 6, destination: 1 }, isPostponed: true })
  t.ok(seen.some(({ bytes, direction }) => direction === 'tx' && bytes[2] === 5))
  t.ok((told.health?.counters.replies ?? 0) >= 2, 'the counts are there with the answer')
  const missed = { code: '' }
  // On a busy machine a simulated node may speak into it first.
  await until('who is not there is missed', async () => {
    await ask(77).catch((fault) => Object.assign(missed, { code: fault.code, details: fault.details }))
    return missed.code === 'mstp_timeout'
  })
  t.match(missed, { details: { destination: 77 } })
})

t.test('who leaves withdraws what waits for the token', async (t) => {
  const { line } = await lineWith(t, [])
  const leave = new AbortController()
  const sent = line.send({ frameType: 6, source: 1, destination: 255, data: asking(1) }, leave.signal)
  leave.abort()
  await t.rejects(sent, { code: 'mstp_withdrawn' })
  const late = line.send({ frameType: 6, source: 1, destination: 255, data: asking(1) }, leave.signal)
  await t.rejects(late, { code: 'mstp_withdrawn' }, 'who has left already sends nothing')
})

t.test('a line that is unplugged is told, and what is sent then is refused', async (t) => {
  const { line, pty } = await lineWith(t, [])
  const gone = new Promise<string>((resolve) => line.onGone(({ code }) => resolve(code)))
  await pty.close()
  t.equal(await gone, 'line_gone')
  const late = line.send({ frameType: 6, source: 1, destination: 255, data: asking(1) }, never)
  await t.rejects(late, { code: /^line_/ })
})

t.test('a line that is not there, or not allowed, is refused as elsewhere', async (t) => {
  const opening = {
    ...{ path: '/dev/pts/none', line: plainLine, settings: settingsWith({}) },
    ...{ onSeen() {}, onHealth() {}, onFault() {} },
  }
  await t.rejects(open(opening), { code: 'line_absent' })
})

t.test('frames that the daemon does not take are counted and not held', async (t) => {
  const { pty, seen, told } = await lineWith(t, [], { mode: 'listen' })
  const token = encodeMstpFrame({ frameType: 0, source: 3, destination: 5, data: new Uint8Array(0) })
  await pty.write(Buffer.concat(Array.from({ length: 400 }, () => token)))
  // The daemon's thread is busy, so that nothing of what is told arrives.
  const endMs = performance.now() + 500
  while (performance.now() < endMs);
  await until('all were heard', () => told.health?.counters.rxFrames === 400)
  t.equal(told.health?.counters.untoldFrames, 400 - 256)
  t.equal(seen.length, 256)
})
