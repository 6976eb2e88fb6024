import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type CameraEvent, createCameraEvents } from '../../../core/camera-events/camera-events.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import type { OnvifClient } from '../../../core/cameras/onvif.ts'
import type { CameraNotice } from '../../../wire/onvif-events.ts'

const yard = {
  ...{ id: 'yard', name: 'Yard', enabled: true, cameraEvents: true, username: 'ann', password: 'x' },
  onvif: { service: 'http://10.0.0.5/onvif/device_service' },
} as unknown as CameraRecord

/** What a camera does with pull points. */
interface Manners {
  /** What it answers to Renew; undefined: it renews. */
  renew: 'onvif_unsupported' | 'onvif_failed' | 'onvif_broken' | undefined
  mostPoints: number
  /** One point more ends the oldest, without a word. */
  isDropping?: boolean
  knowsUnsubscribe: boolean
  /** Every point is the same one. */
  isOne?: boolean
  /** Forgets its points right before it is asked to renew one, as in a restart. */
  isForgetting?: boolean
}

const LIFE_MS = 60_000
const UNNAMED = { source: [], data: [], topic: 'RuleEngine/LineDetector/Crossed' }

/** A camera with these manners; it tells a line that was crossed whenever it is asked something, and motion that comes and goes. */
function stage(manners: Manners) {
  const clock = fakeClock()
  const points = new Map<string, { endsMs: number; waiting: CameraNotice[]; wake(): void }>()
  const told: CameraEvent[] = []
  const states = new Set<string>()
  const asked: string[] = []
  let [made, said, isMoving, most] = [0, 0, false, 0]

  function say(notice: Pick<CameraNotice, 'operation'> & Partial<CameraNotice>): void {
    const whole: CameraNotice = { ...UNNAMED, stamp: String(++said), ...notice }
    for (const { waiting, wake } of points.values()) {
      waiting.push(whole)
      wake()
    }
  }
  const motion = (operation: 'Initialized' | 'Changed') => ({
    ...{ topic: 'RuleEngine/CellMotionDetector/Motion', operation, data: [['IsMotion', String(isMoving)]] as const },
  })
  const gone = () => new Fault('onvif_failed', 'The subscription is gone.')

  function make() {
    if (points.size >= manners.mostPoints) {
      if (!manners.isDropping) throw new Fault('onvif_failed', 'Maximum number of subscriptions reached.')
      for (const [id, { wake }] of points) {
        points.delete(id)
        wake()
      }
    }
    const id = manners.isOne ? '1' : String(++made)
    const standing = { ...UNNAMED, stamp: '', ...motion('Initialized') }
    const waiting = points.get(id)?.waiting ?? [standing]
    points.set(id, { endsMs: clock.monotonicMs() + LIFE_MS, waiting, wake() {} })
    most = Math.max(most, points.size)
    return { address: `http://10.0.0.5/${id}`, named: '', lifeMs: LIFE_MS }
  }

  async function pull(id: string, holdMs: number): Promise<CameraNotice[]> {
    const point = points.get(id)
    if (!point) throw gone()
    if (point.waiting.length === 0)
      await new Promise<void>((resolve) => {
        const timer = clock.after(holdMs, resolve)
        point.wake = () => {
          timer.cancel()
          resolve()
        }
      })
    if (points.get(id) !== point) throw gone()
    return point.waiting.splice(0, 32)
  }

  async function ask(address: string, { answer, holdMs = 0 }: { answer: string; holdMs?: number }): Promise<unknown> {
    const id = address.split('/').at(-1) ?? ''
    asked.push(answer)
    for (const [other, { endsMs, wake }] of points) {
      if (clock.monotonicMs() < endsMs) continue
      points.delete(other)
      wake()
    }
    await Promise.resolve()
    if (answer === 'PullMessagesResponse') return await pull(id, holdMs)
    if (answer === 'GetServicesResponse') return 'http://10.0.0.5/events'
    if (answer === 'UnsubscribeResponse') {
      if (!manners.knowsUnsubscribe) throw new Fault('onvif_unsupported', 'Action not supported.')
      return void points.delete(id)
    }
    if (answer === 'RenewResponse') {
      if (manners.isForgetting) points.clear()
      if (manners.renew) throw new Fault(manners.renew, 'Action not supported.')
      const point = points.get(id)
      if (!point) throw gone()
      point.endsMs = clock.monotonicMs() + LIFE_MS
      return LIFE_MS
    }
    const point = make()
    // Within the time in which two of them may live.
    say({ operation: undefined })
    isMoving = !isMoving
    say(motion('Changed'))
    return point
  }
  const all = createCameraEvents({
    ...{ clock, onvif: { open: async () => ({ ask }) } as unknown as OnvifClient, onFlood() {} },
    onEvent: (event) => void told.push(event),
    onChange: () => void states.add(all.status('yard')?.state ?? 'off'),
    limits: {
      ...{ holdMs: 20_000, leastMs: 100, lifeMs: LIFE_MS, perMinute: 10_000 },
      retry: { firstMs: 1000, maxMs: 8000 },
    },
  })
  all.keep([yard])
  all.start()
  async function pass(seconds: number) {
    for (let at = 0; at < seconds * 10; at++) {
      for (let turn = 0; turn < 30; turn++) await Promise.resolve()
      if (at % 70 === 0) say({ operation: undefined })
      if (at % 110 === 0) {
        isMoving = !isMoving
        say(motion('Changed'))
      }
      clock.advance(100)
    }
  }
  const times = (name: string) => asked.filter((one) => one === name).length
  return { all, asked, clock, mostPoints: () => most, pass, points, say, states, times, told, saidOf: () => said }
}

const NO_RENEW: readonly Manners[] = [
  { renew: 'onvif_unsupported', mostPoints: 4, knowsUnsubscribe: true },
  { renew: 'onvif_failed', mostPoints: 2, knowsUnsubscribe: true },
  { renew: 'onvif_broken', mostPoints: 1, knowsUnsubscribe: true },
  { renew: 'onvif_failed', mostPoints: 1, knowsUnsubscribe: false },
  { renew: 'onvif_failed', mostPoints: 1, knowsUnsubscribe: true, isDropping: true },
  { renew: 'onvif_unsupported', mostPoints: 1, knowsUnsubscribe: true, isOne: true, isDropping: true },
]

for (const manners of NO_RENEW)
  t.test(`A.camera.cameraEventsStatus a camera without Renew is heard on: ${JSON.stringify(manners)}`, async (t) => {
    const { all, asked, pass, saidOf, states, times, told } = stage(manners)
    await pass(600)
    t.notOk(states.has('failing'), [...states].join())
    t.match(all.status('yard'), { state: 'ok', reason: null })
    t.ok(times('RenewResponse') <= 1, 'one that is known not to renew is not asked that again')
    t.ok(times('CreatePullPointSubscriptionResponse') >= 9, 'a new one before the end of each')
    t.ok(asked.length < 1500, `${asked.length} questions for ${saidOf()} notices`)
    const ofMotion = told.filter(({ kind }) => kind === 'motion').map(({ phase }) => phase)
    ofMotion.forEach((phase, at) => void (phase === ofMotion[at - 1] && t.fail(`${phase} twice, at ${at}`)))
    const lines = told.filter(({ kind }) => kind === 'line').length
    t.equal(told.filter(({ phase }) => phase === 'pulse').length, lines)
    const isWhole = !manners.isDropping && manners.mostPoints > 1
    const lost = saidOf() - lines - ofMotion.length
    t.ok(lost >= 0, 'nothing twice')
    if (isWhole) t.equal(lost, 0, 'and nothing lost')
    else t.ok(lost <= 2 * times('CreatePullPointSubscriptionResponse'), 'what came between two of them alone')
  })

t.test('A.camera.cameraEventsStatus a fault about a pull point that is lost is none of Renew', async (t) => {
  const manners: Manners = { renew: undefined, mostPoints: 4, knowsUnsubscribe: true }
  const { mostPoints, pass, states, times } = stage(manners)
  await pass(120)
  t.ok(times('RenewResponse') >= 2)
  t.same([mostPoints(), times('CreatePullPointSubscriptionResponse')], [1, 1], 'one that renews needs no other')
  manners.isForgetting = true
  await pass(60)
  manners.isForgetting = false
  const [before, made] = [times('RenewResponse'), times('CreatePullPointSubscriptionResponse')]
  t.ok(made > 1, 'the lost one is made anew')
  await pass(120)
  t.ok(times('RenewResponse') >= before + 2, 'and is renewed again')
  t.equal(times('CreatePullPointSubscriptionResponse'), made)
  t.notOk(states.has('failing'))
})

t.test('a camera that is no longer listened to gets its pull point back, also between two questions', async (t) => {
  const { all, pass, points, say, times } = stage({ renew: undefined, mostPoints: 4, knowsUnsubscribe: true })
  const settle = async () => {
    for (let turn = 0; turn < 30; turn++) await Promise.resolve()
  }
  await pass(1)
  say({ operation: undefined })
  await settle()
  const before = times('PullMessagesResponse')
  say({ operation: undefined })
  await settle()
  t.equal(times('PullMessagesResponse'), before, 'it has its answer, and waits before it asks again')
  t.equal(points.size, 1)
  all.keep([])
  await settle()
  t.equal(points.size, 0)
})
