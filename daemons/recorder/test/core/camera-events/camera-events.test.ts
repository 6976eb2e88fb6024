import fc from 'fast-check'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { type CameraEvent, createCameraEvents } from '../../../core/camera-events/camera-events.ts'
import { listenerStateTable } from '../../../core/camera-events/listener.ts'
import { meaningOf } from '../../../core/camera-events/meaning.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import type { OnvifClient } from '../../../core/cameras/onvif.ts'
import { type CameraNotice, createPullPoint, pullMessages } from '../../../wire/onvif-events.ts'
import { readXml } from '../../../wire/xml.ts'

const yard = {
  ...{ id: 'yard', name: 'Yard', enabled: true, cameraEvents: true, username: 'ann', password: 'x' },
  onvif: { service: 'http://10.0.0.5/onvif/device_service' },
} as unknown as CameraRecord

const crossed: CameraNotice = {
  ...{ topic: 'RuleEngine/LineDetector/Crossed', source: [], operation: undefined, stamp: '' },
  data: [['ObjectId', '1']],
}
const motion = (on: string): CameraNotice => ({
  ...{ topic: 'RuleEngine/CellMotionDetector/Motion', source: [['Rule', 'Gate']] },
  ...{ data: [['IsMotion', on]], operation: 'Changed', stamp: '' },
})

/** A camera whose answers the test gives. */
function stage(perMinute = 3) {
  const clock = fakeClock()
  const events: CameraEvent[] = []
  const floods: boolean[] = []
  let opened = 0
  const failing: Fault[] = []
  const pulls: PromiseWithResolvers<CameraNotice[]>[] = []
  const asked: string[] = []
  const answers: Record<string, unknown> = {
    GetServicesResponse: 'http://10.0.0.5/events',
    CreatePullPointSubscriptionResponse: { address: 'http://10.9.9.9/pull', named: '', lifeMs: undefined },
  }
  const onvif = {
    async open() {
      opened++
      const fault = failing.shift()
      if (fault) throw fault
      return {
        ask(address: string, { answer }: { answer: string }, signal?: AbortSignal) {
          asked.push(answer)
          if (answer !== 'PullMessagesResponse') return Promise.resolve(answers[answer])
          t.equal(address, 'http://10.0.0.5/pull', 'not the host that it says')
          const pull = Promise.withResolvers<CameraNotice[]>()
          signal?.addEventListener('abort', () => pull.reject(new Fault('camera_unreachable', 'given up')))
          pulls.push(pull)
          return pull.promise
        },
      }
    },
  } as unknown as OnvifClient
  const all = createCameraEvents({
    ...{ clock, onvif, onEvent: (event) => void events.push(event), onChange() {} },
    onFlood: (_, isFlooding) => void floods.push(isFlooding),
    limits: {
      ...{ holdMs: 20_000, leastMs: 100, lifeMs: 60_000, perMinute },
      retry: { firstMs: 1000, maxMs: 8000 },
    },
  })
  const settle = async () => {
    for (let at = 0; at < 30; at++) await Promise.resolve()
  }
  async function say(...notices: CameraNotice[]) {
    await settle()
    pulls.at(-1)?.resolve(notices)
    await settle()
    clock.advance(100)
    await settle()
  }
  return { all, asked, clock, events, failing, floods, opened: () => opened, pulls, say, settle }
}

t.test('what makers say in their topics is understood, and chatter is not worth a line', async (t) => {
  const of = (topic: string, data = 'true') =>
    meaningOf({ topic, source: [], data: [['State', data]], operation: 'Changed', stamp: '' })?.kind
  t.same(
    [
      of('VideoSource/MotionAlarm'),
      of('RuleEngine/MotionRegionDetector/Motion'),
      of('RuleEngine/FieldDetector/ObjectsInside'),
      of('RuleEngine/MyRuleDetector/PeopleDetect'),
      of('RuleEngine/TamperDetector/Tamper'),
      of('VideoSource/ImageTooDark/ImagingService'),
      of('Device/Trigger/DigitalInput'),
    ],
    ['motion', 'motion', 'intrusion', 'person', 'tamper', 'tamper', 'other'],
  )
  for (const topic of ['Monitoring/ProcessorUsage', 'Media/ProfileChanged', 'Device/LastClockSynchronization'])
    t.equal(of(topic), undefined, topic)
  t.equal(of('RuleEngine/CellMotionDetector/Motion', '57'), undefined, 'a level neither begins nor ends')
})

t.test('3A.limits more than so many events in a minute are left out, and said once', async (t) => {
  const { all, clock, events, floods, say } = stage(3)
  all.keep([yard])
  all.start()
  await say()
  await say(...Array.from({ length: 9 }, () => crossed))
  t.same([events.length, floods], [3, [true]])
  clock.advance(60_000)
  await say(crossed)
  clock.advance(60_000)
  await say(crossed)
  t.same([events.length, floods], [5, [true, false]])
})

t.test(
  'A.camera-events no two of what a camera tells at once are of one moment, so that none is missed in pages',
  async (t) => {
    const { all, clock, events, say } = stage(100)
    all.keep([yard, { ...yard, id: 'door' }])
    all.start()
    await say()
    const began = clock.epochMs()
    await say(crossed, crossed, crossed)
    t.same(
      events.map(({ at }) => at - began),
      [0, 1, 2],
    )
  },
)

t.test('3A.limits the end of what was told to begin is told, however much else comes', async (t) => {
  const { all, clock, events, say } = stage(3)
  const inYard = (on: string): CameraNotice => ({ ...motion(on), source: [['Rule', 'Yard']] })
  all.keep([yard])
  all.start()
  await say()
  await say(motion('true'), ...Array.from({ length: 9 }, () => crossed), inYard('true'), motion('false'))
  t.match(events.at(-1), { kind: 'motion', phase: 'end', summary: 'Motion ended: Gate.' })
  clock.advance(60_000)
  await say(inYard('false'))
  t.equal(events.length, 4, 'nor is the end of what was left out')
})

t.test('a camera that is not listened to any more does not tell too much', async (t) => {
  const { all, floods, say } = stage(3)
  all.keep([yard])
  all.start()
  await say()
  await say(...Array.from({ length: 9 }, () => crossed))
  all.keep([{ ...yard, cameraEvents: false }])
  t.same(floods, [true, false])
})

t.test('a camera that answers with nothing at once is not asked without end', async (t) => {
  const { all, pulls, say } = stage()
  all.keep([yard])
  all.start()
  for (let at = 0; at < 5; at++) await say()
  t.equal(pulls.length, 6, 'one question in 100 ms')
})

t.test('a camera is asked ever more seldom, and one that refuses the password least often of all', async (t) => {
  const { all, clock, failing, opened, settle } = stage()
  failing.push(...Array.from({ length: 3 }, () => new Fault('camera_unreachable', 'It is away.')))
  failing.push(new Fault('camera_refused', 'It does not take the password.'))
  all.keep([yard])
  all.start()
  await settle()
  t.match(all.status('yard'), { state: 'failing', reason: 'It is away.' })
  const openedAfter = async (ms: number) => {
    clock.advance(ms)
    await settle()
    return opened()
  }
  t.same([await openedAfter(1000), await openedAfter(1000), await openedAfter(1000)], [2, 2, 3])
  t.equal(await openedAfter(4000), 4)
  t.match(all.status('yard'), { reason: /password/ })
  t.same([await openedAfter(7999), await openedAfter(1)], [4, 5])
})

t.test('what lasted when a subscription was lost ends where the next one does not tell it again', async (t) => {
  const { all, clock, events, pulls, say, settle } = stage(100)
  all.keep([yard])
  all.start()
  await say()
  await say(motion('true'))
  pulls.at(-1)?.reject(new Fault('onvif_failed', 'The subscription is gone.'))
  await settle()
  t.same(all.status('yard')?.active, ['motion'], 'nobody knows better')
  clock.advance(1000)
  await say()
  await say()
  t.same(
    events.map(({ phase }) => phase),
    ['begin', 'end'],
  )
  t.same(all.status('yard')?.active, [])
  all.keep([{ ...yard, cameraEvents: false }])
  t.equal(all.status('yard'), null)
})

t.test('a pull point that a camera may keep is given back before the next one is made', async (t) => {
  const { all, asked, clock, pulls, say, settle } = stage()
  all.keep([yard])
  all.start()
  await say()
  const afterLoss = async (code: string) => {
    const before = asked.length
    pulls.at(-1)?.reject(new Fault(code, 'It is lost.'))
    await settle()
    clock.advance(2000)
    await settle()
    return asked.slice(before)
  }
  const next = ['GetServicesResponse', 'CreatePullPointSubscriptionResponse', 'PullMessagesResponse']
  t.same(await afterLoss('onvif_failed'), ['UnsubscribeResponse', ...next])
  t.same(await afterLoss('camera_unreachable'), next, 'who does not answer is not asked that')
})

t.test('what lasted when a camera got another password ends where it is not told again', async (t) => {
  const { all, events, say } = stage(100)
  all.keep([yard])
  all.start()
  await say()
  await say(motion('true'))
  all.keep([{ ...yard, password: 'y' }])
  t.same(all.status('yard')?.active, ['motion'], 'nobody knows better')
  await say(motion('false'))
  t.same(
    events.map(({ phase }) => phase),
    ['begin', 'end'],
  )
  t.same(all.status('yard')?.active, [])
})

t.test('a listener goes through its table', async (t) => {
  t.same(listenerStateTable, {
    off: { begun: 'starting' },
    starting: { subscribed: 'ok', failed: 'failing', ended: 'off' },
    ok: { failed: 'failing', ended: 'off' },
    failing: { subscribed: 'ok', ended: 'off' },
  })
})

t.test(
  'what names a subscription is sent back as it came, with its namespace, and nothing that is not XML',
  async (t) => {
    const reference = (inner: string) =>
      `<a xmlns:p="urn:maker"><SubscriptionReference><Address>http://c/x</Address><ReferenceParameters>${inner}</ReferenceParameters></SubscriptionReference></a>`
    const named = (inner: string) => createPullPoint(60).read(readXml(reference(inner))).named
    t.match(named('<p:Id>7&lt;</p:Id>'), /^<Id xmlns="urn:maker" [^>]*IsReferenceParameter="true">7&lt;<\/Id>$/)
    t.equal(named(`<p:Id>${'x'.repeat(300)}</p:Id>`), '')
    t.throws(() => createPullPoint(60).read(readXml('<a/>')), { code: 'onvif_broken' })
    const said = fc.record({ topic: fc.string(), name: fc.string(), value: fc.string() })
    const point = { address: '', named: '', lifeMs: undefined }
    fc.assert(
      fc.property(said, ({ name, topic, value }) => {
        const escaped = (text: string) => text.replace(/[^\w/:]/g, '')
        const xml = `<r><NotificationMessage><Topic>${escaped(topic)}</Topic><Message><Message><Data><SimpleItem Name="${escaped(name)}" Value="${escaped(value)}"/></Data></Message></Message></NotificationMessage></r>`
        for (const notice of pullMessages(point, 1000).read(readXml(xml))) {
          meaningOf(notice)
          t.ok(notice.topic.length <= 160)
        }
      }),
      { numRuns: 50 },
    )
  },
)
