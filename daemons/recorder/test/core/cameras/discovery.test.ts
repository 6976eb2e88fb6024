import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { checkTargetHost } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { heapBytesOf } from '#kit/test/heap.ts'
import { createCameraBook } from '../../../core/cameras/book.ts'
import type { Camera } from '../../../core/cameras/camera.ts'
import { createDiscovery } from '../../../core/cameras/discovery.ts'
import type { ProbeMatch } from '../../../wire/ws-discovery.ts'

const login = { username: 'ann', password: 'secret' }
const match = (endpoint: string, more: Partial<ProbeMatch> = {}): ProbeMatch => ({
  ...{
    endpoint,
    addresses: ['http://10.0.0.5/onvif/device_service'],
    name: 'Yard',
    manufacturer: undefined,
    model: 'M',
  },
  ...more,
})

interface Limits {
  most?: number
  found?: number
  adoptAtOnce?: number
  licensed?: number | null
}

function stage({ adoptAtOnce = 4, found = 8, licensed = null, most = 8 }: Limits = {}) {
  let ids = 0
  const newId = () => `d${++ids}`
  const answers: [ProbeMatch, string][] = []
  const scans: PromiseWithResolvers<void>[] = []
  const adoptions: { service: string; done: PromiseWithResolvers<string> }[] = []
  const cameras = createCameraBook({
    licensed: () => licensed,
    ...{
      records: [],
      most,
      checkHost: checkTargetHost,
      newId: () => `c${++ids}`,
      save: async () => {},
      onRemoved() {},
    },
    make: () => ({ start() {}, stop: async () => {} }) as unknown as Camera,
  })
  const discovery = createDiscovery({
    ...{ cameras, clock: fakeClock(), newId, limits: { found, foundPerAddress: 2, adoptAtOnce } },
    prober: {
      async probe(onMatch) {
        for (const [one, address] of answers) onMatch(one, address)
        const scan = Promise.withResolvers<void>()
        scans.push(scan)
        await scan.promise
        return 1
      },
    },
    async adopter(service) {
      const done = Promise.withResolvers<string>()
      adoptions.push({ service, done })
      const url = await done.promise
      const link = { service, recordToken: 'main', watchToken: null, fps: 25 }
      return { manufacturer: '', model: '', url, subUrl: null, link }
    },
  })

  async function scan(...now: [ProbeMatch, string][]) {
    answers.splice(0, answers.length, ...now)
    const over = discovery.scan()
    scans.at(-1)?.resolve()
    return (await over).found
  }

  /** The camera of the n-th adoption answers. */
  async function answer(at: number, fault?: Fault): Promise<void> {
    for (let turns = 0; turns < 20; turns++) await Promise.resolve()
    const one = adoptions[at]
    if (fault) one?.done.reject(fault)
    else one?.done.resolve(`rtsp://${new URL(one.service).hostname}/main`)
  }
  return { adoptions, answer, cameras, discovery, scan, scans }
}

t.test('lists what answers, at the address it answers from, and drops what a later scan does not find', async (t) => {
  const { discovery, scan } = stage()
  const [one, other] = await scan(
    [match('a', { addresses: ['http://[fe80::1]/x', 'https://10.0.0.5/s', 'http://192.168.1.10:8080/d'] }), '10.0.0.5'],
    [
      match('b', { addresses: ['http://10.0.0.6/one', 'https://10.0.0.6/two'], name: undefined, model: undefined }),
      '10.0.0.6',
    ],
  )
  t.match(one, { service: 'https://10.0.0.5/s', name: 'Yard', known: undefined })
  t.match(other, { service: 'http://10.0.0.6/one', name: '10.0.0.6' })
  const [again] = await scan([match('a'), '10.0.0.5'])
  t.equal(again?.id, one?.id)
  t.same(discovery.state().found.length, 1)
})

t.test(
  'an address that says none of its own is taken at its own; one that says nothing readable is left out',
  async (t) => {
    const { scan } = stage()
    const found = await scan(
      [match('a', { addresses: ['http://[fe80::1]/x', 'http://169.254.169.254:8080/latest'] }), '10.0.0.5'],
      [match('b', { addresses: ['ftp://10.0.0.6/', 'x', ''] }), '10.0.0.6'],
    )
    t.match(found, [{ service: 'http://10.0.0.5:8080/latest' }])
  },
)

t.test('one host takes no more than its places, and nobody takes the place or the id of another', async (t) => {
  const { scan } = stage({ found: 4 })
  const flood = Array.from({ length: 50 }, (_, at) => [match(`f${at}`), '10.0.0.66'] as [ProbeMatch, string])
  const found = await scan(
    [match('a'), '10.0.0.5'],
    ...flood,
    [match('a', { name: 'Mallory' }), '10.0.0.66'],
    [match('b'), '10.0.0.6'],
  )
  t.same(
    found.map(({ address, name }) => [address, name]),
    [
      ['10.0.0.5', 'Yard'],
      ['10.0.0.66', 'Yard'],
      ['10.0.0.66', 'Yard'],
      ['10.0.0.6', 'Yard'],
    ],
  )
})

t.test('callers that scan at once share one scan', async (t) => {
  const { discovery, scans } = stage()
  const both = [discovery.scan(), discovery.scan()]
  t.equal(discovery.state().isScanning, true)
  t.equal(scans.length, 1)
  scans[0]?.resolve()
  await Promise.all(both)
  t.match(discovery.state(), { isScanning: false, interfaces: 1, scannedAt: fakeClock().epochMs() })
})

t.test('a camera is added with its login and link, once', async (t) => {
  const { answer, cameras, discovery, scan } = stage()
  const [{ id } = { id: '' }] = await scan([match('a'), '10.0.0.5'])
  const added = discovery.adopt(id, login, 'Gate')
  await t.rejects(discovery.adopt(id, login), { code: 'camera_known' }, 'while it is being added')
  await answer(0)
  const { record } = await added
  t.match(record, { name: 'Gate', url: 'rtsp://10.0.0.5/main', ...login, onvif: { recordToken: 'main' } })
  t.equal(discovery.state().found[0]?.known?.record.id, record.id)
  await t.rejects(discovery.adopt(id, login), { code: 'camera_known', message: /as Gate/ })
  await cameras.remove(record.id)
  t.equal(discovery.state().found[0]?.known, undefined)
  await t.rejects(discovery.adopt('zz', login), { code: 'unknown_device' })
})

t.test('a camera that was added by its address is known, also in another notation', async (t) => {
  const { cameras, scan } = stage()
  await cameras.add({ name: 'Door', url: 'rtsp://167772165/one' })
  t.match(await scan([match('a'), '10.0.0.5']), [{ known: { record: { name: 'Door' } } }])
})

t.test('A.errors adopt-all lists each refused camera with its sentence, and adds the others', async (t) => {
  const { adoptions, answer, discovery, scan } = stage({ adoptAtOnce: 2 })
  await scan([match('a'), '10.0.0.5'], [match('b'), '10.0.0.6'], [match('c'), '10.0.0.7'])
  const all = discovery.adoptAll(login)
  await answer(0, new Fault('camera_refused', 'The camera does not take this user name and password.'))
  t.equal(adoptions.length, 2, 'no more at once than the setting says')
  await answer(1)
  await answer(2)
  const { adopted, failed } = await all
  t.same(
    adopted.map(({ record }) => record.name),
    ['Yard', 'Yard 10.0.0.7'],
    'those of one name are told apart',
  )
  t.match(failed, [{ found: { address: '10.0.0.5' }, fault: { code: 'camera_refused' } }])
  const again = discovery.adoptAll(login)
  await answer(3)
  t.equal((await again).adopted.length, 1, 'those that are added already are left alone')
})

t.test('where there is no room, no camera is asked; the last place waits for who may still fail', async (t) => {
  const { adoptions, answer, discovery, scan } = stage({ most: 1 })
  await scan([match('a'), '10.0.0.5'], [match('b'), '10.0.0.6'], [match('c'), '10.0.0.7'])
  const all = discovery.adoptAll(login)
  await answer(0, new Fault('camera_refused', 'no'))
  t.equal(adoptions.length, 1)
  await answer(1)
  const { adopted, failed } = await all
  t.match(adopted, [{ record: { url: 'rtsp://10.0.0.6/main' } }])
  t.same(
    failed.map(({ fault }) => fault.code),
    ['camera_refused', 'too_many_cameras'],
  )
  t.equal(adoptions.length, 2)
})

t.test('as many as may be found take no more than their row in the memory plan', async (t) => {
  const many = 256
  const long = 'x'.repeat(64)
  const bytes = await heapBytesOf(async () => {
    const { discovery, scan } = stage({ found: many })
    await scan(
      ...Array.from({ length: many }, (_, at): [ProbeMatch, string] => {
        const endpoint = `urn:uuid:${'x'.repeat(110)}${at}`
        return [match(endpoint, { name: long, model: long, manufacturer: long }), `10.0.${at >> 1}.5`]
      }),
    )
    return discovery
  })
  t.ok(bytes < many * 4096, `${bytes} bytes`)
})

t.test('3A.license a camera beyond the licence is refused before it is asked for anything', async (t) => {
  const { adoptions, answer, discovery, scan } = stage({ licensed: 1, adoptAtOnce: 1 })
  const other = match('b', { addresses: ['http://10.0.0.6/onvif/device_service'] })
  await scan([match('a'), '10.0.0.5'], [other, '10.0.0.6'])
  const all = discovery.adoptAll(login)
  await answer(0)
  const { adopted, failed } = await all
  t.equal(adopted.length, 1)
  t.match(failed, [{ fault: { code: 'license_camera_limit', message: /^The licence is for 1 camera\./ } }])
  t.equal(adoptions.length, 1, 'no session was opened')
})
